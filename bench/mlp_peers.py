"""A training step of a multi-layer perceptron as others write it, over ours (workloads/mlp.py). Run by bench/peers.py.

In PyTorch as its tutorials do: nn.Sequential of nn.Linear and the activation, nn.CrossEntropyLoss, optim.SGD, and
zero_grad, backward, step. In NumPy as the equations stand: every intermediate result is a new array. Both do the same
arithmetic as ours, fp32, and end with the same parameters. All run in the environment of a measurement, whose allocator
keeps freed memory: outside it, new arrays cost more than here.
"""

from collections.abc import Callable
from itertools import cycle

import numpy as np
import torch
from paired import Step, paired_ratio

from respeed.backends import make_backend
from respeed.inputs.papers import load_paper
from respeed.model.paper import Case
from respeed.workloads import Arrays
from respeed.workloads._common import activated, slope, softmax
from respeed.workloads.mlp import Mlp, activation_of

# A comparison that would take longer has fewer pairs, and says so.
MOST_SECONDS = 30.0

ACTIVATIONS = {"tanh": torch.nn.Tanh, "sigmoid": torch.nn.Sigmoid, "relu": torch.nn.ReLU}


class TutorialTorch:
    def __init__(self, case: Case, inputs: Arrays) -> None:
        layers: list[torch.nn.Module] = []
        for weights, bias in _parameters(inputs):
            linear = torch.nn.Linear(*weights.shape)
            linear.weight.data, linear.bias.data = torch.from_numpy(weights.T.copy()), torch.from_numpy(bias.copy())
            layers += [linear, ACTIVATIONS[str(case.parameters["activation"])]()]
        self.model = torch.nn.Sequential(*layers[:-1])
        self.criterion = torch.nn.CrossEntropyLoss()
        rate, decay = case.parameters["learning_rate"], case.parameters["weight_decay"]
        parameters = [{"params": [layer.weight], "weight_decay": decay} for layer in self.linear()]
        self.optimizer = torch.optim.SGD([*parameters, {"params": [layer.bias for layer in self.linear()]}], lr=rate)
        examples, labels = torch.from_numpy(np.asarray(inputs["examples"])), torch.from_numpy(inputs["labels"])
        self.batches = cycle(list(zip(examples, labels, strict=True)))

    def linear(self) -> list[torch.nn.Linear]:
        return [layer for layer in self.model if isinstance(layer, torch.nn.Linear)]

    @torch.enable_grad()  # our backend needs no gradients, and says so for the thread
    def step(self) -> None:
        x, y = next(self.batches)
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(x), y)
        loss.backward()
        self.optimizer.step()

    def parameters(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(layer.weight.detach().numpy().T, layer.bias.detach().numpy()) for layer in self.linear()]


class TutorialNumPy:
    def __init__(self, case: Case, inputs: Arrays) -> None:
        self.layers = [(weights.copy(), bias.copy()) for weights, bias in _parameters(inputs)]
        self.activation = activation_of(case)
        self.rate = np.float32(case.parameters["learning_rate"])
        self.decay = np.float32(case.parameters["weight_decay"])
        self.batches = cycle(list(zip(np.asarray(inputs["examples"]), inputs["labels"], strict=True)))

    def step(self) -> None:
        x, y = next(self.batches)
        outs = [x]
        for weights, bias in self.layers[:-1]:
            outs.append(activated(self.activation, outs[-1] @ weights + bias))
        weights, bias = self.layers[-1]
        error = softmax(outs[-1] @ weights + bias)
        error[np.arange(len(y)), y] -= 1
        error /= np.float32(len(y))
        for (weights, bias), out in reversed(list(zip(self.layers, outs, strict=True))):
            below = error @ weights.T * slope(self.activation, out) if out is not x else error
            weights -= self.rate * (out.T @ error + self.decay * weights)
            bias -= self.rate * error.sum(axis=0)
            error = below

    def parameters(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return self.layers


def compare_mlp(threads: int) -> None:
    """Every peer's time over that of our step on the library nearest to it, at each size of the paper's table."""
    for case in load_paper("bergstra2010").experiments["mlp"].cases:
        print(f"  {case.name}, {threads} threads", flush=True)
        inputs = Mlp().inputs(case, 1)
        for name, library, peer in PEERS:
            backend = make_backend(library, device="cpu", precision="fp32", threads=threads, seed=1)
            ours = Mlp().build(backend, case, inputs).step
            ratio = paired_ratio(peer(case, inputs), ours, most_seconds=MOST_SECONDS)
            print(f"    {name:<37} {ratio} times as long as ours on {library}", flush=True)


def _parameters(inputs: Arrays) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights (below, above) and bias of every layer."""
    count = sum(name.startswith("weights") for name in inputs)
    return [(np.asarray(inputs[f"weights{place}"]), inputs[f"bias{place}"]) for place in range(count)]


# Name, our backend on the library that it uses too, and what makes its step.
PEERS: tuple[tuple[str, str, Callable[[Case, Arrays], Step]], ...] = (
    ("PyTorch as in a tutorial", "torch", lambda case, inputs: TutorialTorch(case, inputs).step),
    ("NumPy as in a tutorial", "openblas", lambda case, inputs: TutorialNumPy(case, inputs).step),
)
