"""Ours beside its peers, in paired runs: prints ratios, never absolute times. Nothing else may run meanwhile.

./run python bench/peers.py sparse      sparse-coding coefficients: every solver over our fastest, one and all cores
./run python bench/peers.py rbm         a training step of an RBM as a tutorial writes it in PyTorch and in NumPy, and
                                        scikit-learn's, over ours; every size of the paper, one and all cores
./run python bench/peers.py mlp         a training step of a multi-layer perceptron as a tutorial writes it in PyTorch
                                        and in NumPy, over ours; one and all cores
./run python bench/peers.py convnet     a step of ResNet-50, LeNet and a small net on digits as a tutorial writes them
                                        in PyTorch, over ours; one and all cores

SPAMS (GPL) is compared with if it is installed: uv pip install --python .venv/bin/python spams-bin

All run in the environment of a measurement, whose allocator keeps freed memory: outside it, new arrays, of which
tutorials make many, cost more than here.
"""

import argparse
from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np
import torch
from paired import Comparison, Step, compare, paired_ratio
from torch import nn

from respeed.backends import make_backend
from respeed.inputs.papers import load_paper
from respeed.kernels.compiled import Workers, workspace
from respeed.kernels.sparse import descend, search
from respeed.model.paper import Case
from respeed.workloads import Arrays, Inputs, convnet
from respeed.workloads._common import activated, slope, softmax
from respeed.workloads._networks import Linear, LocalResponse, Mean, Network, Normalization
from respeed.workloads.mlp import Mlp, activation_of
from respeed.workloads.rbm import Rbm
from respeed.workloads.sparse_coding import SparseParallel, objective

# A comparison that would take longer has fewer pairs, and says so.
MOST_SECONDS = 30.0

# ---- a binary RBM: CD-1 by a mini-batch in fp32, every intermediate result a new array, two gradients

SCIKIT_LEARN = """\
  scikit-learn's BernoulliRBM samples visible and hidden units, two samplings to our one: its negative phase goes on
  from the hidden sample of the step before (persistent CD, one Gibbs step). partial_fit computes in float64 whatever it
  is given; the mini-batch of its fit, a private method, in float32 if the examples are."""


class NaiveRbmTorch:
    """CD-1 in PyTorch as a tutorial writes it. `sample` draws 0 or 1 with the probabilities that it is given."""

    def __init__(self, case: Case, inputs: Arrays, sample: Callable[[torch.Tensor], torch.Tensor] = torch.bernoulli):
        self.rate, self.sample = case.parameters["learning_rate"], sample
        self.examples = cycle(torch.from_numpy(np.asarray(inputs["examples"])))  # (B, V) each
        self.W = torch.from_numpy(np.array(inputs["weights"]))  # (V, H)
        self.b, self.c = (torch.tensor(part) for part in _split_biases(inputs))

    def step(self) -> None:
        v0 = next(self.examples)
        h0 = torch.sigmoid(v0 @ self.W + self.c)
        s = self.sample(h0)
        v1 = torch.sigmoid(s @ self.W.t() + self.b)
        h1 = torch.sigmoid(v1 @ self.W + self.c)
        self.W += self.rate * (v0.t() @ h0 - v1.t() @ h1) / len(v0)
        self.b += self.rate * (v0 - v1).mean(dim=0)
        self.c += self.rate * (h0 - h1).mean(dim=0)


class NaiveRbmNumPy:
    """The same in NumPy."""

    def __init__(self, case: Case, inputs: Arrays, sample: Callable[[np.ndarray], np.ndarray] | None = None):
        self.rate = case.parameters["learning_rate"]
        self.sample = sample or _bernoulli(np.random.default_rng(1))
        self.examples = cycle(np.asarray(inputs["examples"]))  # (B, V) each
        self.W = np.array(inputs["weights"])  # (V, H)
        self.b, self.c = (part.copy() for part in _split_biases(inputs))

    def step(self) -> None:
        v0 = next(self.examples)
        h0 = _sigmoid(v0 @ self.W + self.c)
        s = self.sample(h0)
        v1 = _sigmoid(s @ self.W.T + self.b)
        h1 = _sigmoid(v1 @ self.W + self.c)
        self.W += self.rate * (v0.T @ h0 - v1.T @ h1) / len(v0)
        self.b += self.rate * (v0 - v1).mean(axis=0)
        self.c += self.rate * (h0 - h1).mean(axis=0)


def compare_rbm(threads: int) -> None:
    """Every peer's time over that of our step on the library nearest to it, at each size of the paper's table."""
    print(SCIKIT_LEARN, flush=True)
    for case in load_paper("raina2009").experiments["rbm"].cases:
        print(f"  {case.name}, {threads} threads", flush=True)
        inputs = Rbm().inputs(case, 1)
        ours = {name: _our_step(name, case, inputs, threads) for name in ("torch", "openblas")}
        # One after another, so that the arrays of one alone lie beside ours.
        for name, library, peer in RBM_PEERS:
            ratio = paired_ratio(peer(case, inputs), ours[library], most_seconds=MOST_SECONDS)
            print(f"    {name:<37} {ratio} times as long as ours on {library}", flush=True)


def _our_step(name: str, case: Case, inputs: Arrays, threads: int) -> Step:
    backend = make_backend(name, device="cpu", precision="fp32", threads=threads, seed=1)
    return Rbm().build(backend, case, inputs).step


def _partial_fit(case: Case, inputs: Arrays) -> Step:
    model, examples = _bernoulli_rbm(case, inputs, np.float64), cycle(np.asarray(inputs["examples"]))
    return lambda: model.partial_fit(next(examples))


def _fit(case: Case, inputs: Arrays) -> Step:
    model, examples = _bernoulli_rbm(case, inputs, np.float32), cycle(np.asarray(inputs["examples"]))
    return lambda: model._fit(next(examples), model.random_state_)


def _bernoulli_rbm(case: Case, inputs: Arrays, precision: type[np.floating]) -> Any:
    """A BernoulliRBM with our parameters, as its first step would have left it; its weights are (H, V), in columns."""
    from sklearn.neural_network import BernoulliRBM

    H, B = int(case.parameters["hidden"]), int(case.parameters["batch"])
    model = BernoulliRBM(H, learning_rate=case.parameters["learning_rate"], batch_size=B, random_state=1)
    model.partial_fit(np.asarray(inputs["examples"][0]))
    visible, hidden = _split_biases(inputs)
    model.components_ = np.array(np.asarray(inputs["weights"]).T, dtype=precision, order="F")
    model.intercept_visible_, model.intercept_hidden_ = visible.astype(precision), hidden.astype(precision)
    model.h_samples_ = np.zeros((B, H), precision)
    return model


def _bernoulli(random: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    return lambda p: (random.random(p.shape, dtype=np.float32) < p).astype(np.float32)


def _sigmoid(z: np.ndarray) -> np.ndarray:
    out: np.ndarray = 1 / (1 + np.exp(-z))
    return out


def _split_biases(inputs: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Of the visible and of the hidden units."""
    visible, hidden = np.split(inputs["biases"], [inputs["weights"].shape[0]])
    return visible, hidden


# Name, our backend on the library that it uses too, and what makes its step.
RBM_PEERS: tuple[tuple[str, str, Callable[[Case, Arrays], Step]], ...] = (
    ("PyTorch as in a tutorial", "torch", lambda case, inputs: NaiveRbmTorch(case, inputs).step),
    ("NumPy as in a tutorial", "openblas", lambda case, inputs: NaiveRbmNumPy(case, inputs).step),
    ("scikit-learn, fp32 mini-batch of fit", "openblas", _fit),
    ("scikit-learn, partial_fit in float64", "openblas", _partial_fit),
)


# ---- a multi-layer perceptron: the same arithmetic as ours, and the same parameters in the end

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
        for name, library, peer in MLP_PEERS:
            backend = make_backend(library, device="cpu", precision="fp32", threads=threads, seed=1)
            ours = Mlp().build(backend, case, inputs).step
            ratio = paired_ratio(peer(case, inputs), ours, most_seconds=MOST_SECONDS)
            print(f"    {name:<37} {ratio} times as long as ours on {library}", flush=True)


def _parameters(inputs: Arrays) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights (below, above) and bias of every layer."""
    count = sum(name.startswith("weights") for name in inputs)
    return [(np.asarray(inputs[f"weights{place}"]), inputs[f"bias{place}"]) for place in range(count)]


# Name, our backend on the library that it uses too, and what makes its step.
MLP_PEERS: tuple[tuple[str, str, Callable[[Case, Arrays], Step]], ...] = (
    ("PyTorch as in a tutorial", "torch", lambda case, inputs: TutorialTorch(case, inputs).step),
    ("NumPy as in a tutorial", "openblas", lambda case, inputs: TutorialNumPy(case, inputs).step),
)


# ---- a convolutional net of torch.nn's modules: images channel by channel, ReLU in place, automatic derivatives

IMAGENET = {
    "width": 1.0, "batch": 16, "side": 224, "classes": 1000,
    "update": "none", "learning_rate": 0.0, "gradients": "parameters",
}  # fmt: skip
DIGITS = {
    "width": 1.0, "side": 28, "classes": 10, "update": "sgd", "learning_rate": 0.1, "gradients": "parameters",
}  # fmt: skip
CASES = (
    Case("ResNet-50", "convnet", IMAGENET | {"network": "resnet50"}),
    Case("LeNet", "convnet", DIGITS | {"network": "lenet", "batch": 500}),
    Case("small net on digits", "convnet", DIGITS | {"network": "digits", "batch": 128}),
)


class NaiveNet(nn.Module):
    """The same layers as a tutorial chooses them: images as rows channel by channel, activations as modules."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.nodes = Network(case).nodes
        self.layers = nn.ModuleList(_module(node.layer) for node in self.nodes)
        kinds = {"relu": nn.ReLU(inplace=True), "tanh": nn.Tanh(), "": nn.Identity()}
        self.activations = nn.ModuleList(kinds[node.activation] for node in self.nodes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        outputs = [images]
        for node, layer, activate in list(zip(self.nodes, self.layers, self.activations, strict=True))[1:]:
            y = layer(*(outputs[source] for source in node.read))
            for source in node.added:
                y += outputs[source]
            outputs.append(activate(y))
        return outputs[-1]


def _module(layer: Any) -> nn.Module:
    if isinstance(layer, Linear):
        return nn.Sequential(nn.Flatten(), nn.Linear(layer.in_features, layer.out_features))
    if isinstance(layer, LocalResponse):
        return nn.LocalResponseNorm(layer.size, layer.alpha, layer.beta, layer.k)
    if isinstance(layer, Mean):
        return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    if isinstance(layer, Normalization):
        return nn.BatchNorm2d(layer.num_features)
    return nn.Identity() if layer is None else layer.to_empty(device="cpu")


class NaiveConvnet:
    """`step` trains the net, or only computes its gradients, on the case's first mini-batch."""

    def __init__(self, case: Case, inputs: Inputs) -> None:
        self.model, self.learns = NaiveNet(case), case.parameters["update"] == "sgd"
        _load(self.model, case, inputs)
        self.images = torch.from_numpy(np.array(inputs["images"][0]))
        self.images.requires_grad_(case.parameters["gradients"] == "parameters-and-images")
        self.target = torch.from_numpy(np.array(inputs["targets"][0]))
        self.labels, self.criterion = self.target.argmax(1), nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=case.parameters["learning_rate"])

    @torch.enable_grad()
    def step(self) -> None:
        self.optimizer.zero_grad()
        scores = self.model(self.images)
        if self.learns:
            self.criterion(scores, self.labels).backward()
            self.optimizer.step()
        else:
            scores.backward(self.target)


def _load(model: NaiveNet, case: Case, inputs: Inputs) -> None:
    """Our parameters. The inputs of a linear layer that reads images are in the order of their pixels there."""
    for node, layer, arrays in zip(model.nodes, model.layers, inputs["parameters"], strict=True):
        for place, array in zip(layer.parameters(), arrays, strict=True):
            values = torch.from_numpy(np.array(array))
            shape = model.nodes[node.sources[0]].shape if node.sources else ()
            if isinstance(node.layer, Linear) and values.dim() == 2 and len(shape) == 3:
                values = values.view(-1, *shape[1:], shape[0]).permute(0, 3, 1, 2).reshape(place.shape)
            place.data.copy_(values)


def compare_convnet(threads: int) -> None:
    """The tutorial's time over ours for each net."""
    for case in CASES:
        inputs = convnet.inputs(case, 1)
        backend = make_backend("torch", device="cpu", precision="fp32", threads=threads, seed=1)
        ours: Step = convnet.build(backend, case, inputs).step
        ratio = paired_ratio(NaiveConvnet(case, inputs).step, ours, most_seconds=MOST_SECONDS)
        print(f"    {case.name:<20} PyTorch as in a tutorial {ratio} times as long as ours", flush=True)


# ---- sparse-coding coefficients

SPARSE_PAIRS, EXAMPLES = 9, 300

Solver = Callable[[], np.ndarray]


def solvers(case: Case, threads: int) -> tuple[dict[str, Solver], Callable[[np.ndarray], float]]:
    """Programs that give the coefficients (m, n) of the same examples, and the objective of what they give."""
    penalty = case.parameters["penalty"]
    full = Case(
        case.name, case.workload, {**case.parameters, "patches": EXAMPLES, "batch": EXAMPLES, "timed": EXAMPLES}
    )
    inputs = SparseParallel().inputs(full, seed=1)
    x, bases = inputs["x"][0], inputs["bases"]
    workers = Workers(threads)
    gram, correlations = np.empty((len(bases), len(bases)), np.float32), np.empty((EXAMPLES, len(bases)), np.float32)

    def compiled(kernel: Callable[..., None]) -> Solver:
        out = np.zeros((EXAMPLES, len(bases)), np.float32)
        workspaces = [workspace(len(bases)) for _ in range(threads)]

        def work(start: int, stop: int, worker: int) -> None:
            kernel(start, stop, gram, correlations, penalty, out, workspaces[worker])

        def solve() -> np.ndarray:
            np.matmul(bases, bases.T, out=gram)
            np.matmul(x, bases.T, out=correlations)
            workers.spread(work, EXAMPLES)
            return out

        return solve

    program = SparseParallel().build(
        make_backend("openblas", device="cpu", precision="fp32", threads=threads, seed=1), full, inputs
    )

    def parallel() -> np.ndarray:
        program.code()
        found: np.ndarray = program.coefficients
        return found

    found: dict[str, Solver] = {
        "compiled descent": compiled(descend),
        "feature-sign search": compiled(search),
        "parallel coordinates": parallel,
        "scikit-learn lasso_cd": _lasso_cd(x, bases, penalty, threads),
    }
    found |= _spams(x, bases, penalty, threads)
    return found, lambda coefficients: float(objective(x, bases, coefficients, penalty).sum())


def _lasso_cd(x: np.ndarray, bases: np.ndarray, penalty: float, threads: int) -> Solver:
    from sklearn.decomposition import sparse_encode

    wide, wide_bases = x.astype(np.float64), bases.astype(np.float64)

    def solve() -> np.ndarray:
        found: np.ndarray = sparse_encode(
            wide, wide_bases, algorithm="lasso_cd", alpha=penalty, max_iter=10000, n_jobs=threads
        )
        return found

    return solve


def _spams(x: np.ndarray, bases: np.ndarray, penalty: float, threads: int) -> dict[str, Solver]:
    try:
        import spams
    except ImportError:
        print("  SPAMS is not installed and not compared with")
        return {}
    from scipy.sparse import csc_matrix

    columns, dictionary = np.asfortranarray(x.T), np.asfortranarray(bases.T)
    zero = csc_matrix((bases.shape[0], len(x)), dtype=np.float32)

    def lars() -> np.ndarray:
        found = spams.lasso(columns, D=dictionary, lambda1=penalty, mode=2, numThreads=threads)
        return np.asarray(found.T.todense())

    def descent() -> np.ndarray:
        found = spams.cd(columns, dictionary, zero, lambda1=penalty, mode=2, itermax=1000, tol=1e-3, numThreads=threads)
        return np.asarray(found.T.todense())

    return {"SPAMS LARS": lars, "SPAMS CD": descent}


def compare_sparse(threads: int) -> None:
    """Every solver's time over ours, the median of paired ratios with its 95 % interval, at each sparsity."""
    for case in {case.name: case for case in load_paper("raina2009").experiments["sparse-coding"].cases}.values():
        programs, objective = solvers(case, threads)
        ours, *others = programs
        print(f"  {case.name}, {threads} threads, {EXAMPLES} patches")
        best = objective(programs[ours]())
        for name in others:
            excess = objective(programs[name]()) / best - 1
            ratio = paired_ratio(programs[name], programs[ours], SPARSE_PAIRS)
            print(f"    {name:<22} {ratio} times as long as ours; its objective is {excess:+.1e} of ours")


COMPARISONS: dict[str, Comparison] = {
    "sparse": compare_sparse,
    "rbm": compare_rbm,
    "mlp": compare_mlp,
    "convnet": compare_convnet,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("comparison", choices=COMPARISONS)
    parser.add_argument("--threads", type=int, help="compare in this process, which has the environment for it")
    options = parser.parse_args()
    compare(options.comparison, COMPARISONS, options.threads)


if __name__ == "__main__":
    main()
