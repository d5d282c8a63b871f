"""Synchronous data-parallel training: each copy of a net learns from its part of every mini-batch."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from respeed.workloads import Arrays, Named, Pairs, Row, Workload, workload
from respeed.workloads._net_check import RUNNING
from respeed.workloads._nets import Tanh
from respeed.workloads._replicas import Replicas, of_all
from respeed.workloads.convnet import BATCHES, Convnet, Example, _Net


@workload
class _Replicated(Workload):
    """Train a net by gradient descent on mini-batches that are split over replicas, as torch's users do.

    Each replica is a process, on a core or a GPU of its own, with a copy of the net and examples of its own. Each
    computes gradients, waits for those of all, and updates by their mean (`DistributedDataParallel`): parameters -=
    learning_rate / R (g_1 + ... + g_R). As all replicas make the same update, their copies stay equal. While gradients
    of the first layers are computed, gradients of the last layers are already sent.
    """

    classes: int
    batch: int
    learning_rate: float
    replicas: int

    captured = False
    # Matrix products are done in other processes, not by the backend of this process.
    products = False

    # The workload of a replica.
    part_class: ClassVar["type[_Part]"]
    # Parameters of a tiny program, besides those that all have.
    tiny: ClassVar[Mapping[str, Any]]

    def part(self) -> "_Part":
        """Return the workload of one replica; all have equally many examples."""
        parameters = asdict(self)
        del parameters["replicas"]
        parameters["batch"] //= self.replicas
        return self.part_class(**parameters)

    def arrays(self, random: Generator) -> Named:
        """Draw a seed: replicas draw the rest themselves."""
        return {"seed": random.integers(0, 2**31, 1)}

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Have every replica build its program; before, run a tiny one, as the first step loads libraries, slowly."""
        tiny = replace(self, classes=2, batch=4 * self.replicas, learning_rate=0.0, **self.tiny)
        seed = int(a.seed[0])
        a.replicas = Replicas(self.replicas, row)
        a.helpers = a.replicas.pids
        a.replicas.ask("build", tiny.part(), seed)
        a.replicas.ask("step", seed)
        a.replicas.ask("build", self.part(), seed)

    def torch(self, a: Arrays, row: Row) -> None:
        """Have every replica do a step."""
        a.replicas.ask("step", int(a.seed[0]))

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare every replica: layers with float64, gradients with the mean of all, parameters with the first's."""
        answers: list[tuple[int, Pairs]] = seen.replicas.ask("check")
        errors = defaultdict(list)
        for rank, (_, pairs) in enumerate(answers):
            for name, pair in pairs.items():
                # Each step begins with the running means and variances of the first replica.
                if rank == 0 or name not in RUNNING.values():
                    errors[name].append(pair[0])
        seeds = np.array([seed for seed, _ in answers])
        compared = {name: (np.concatenate(arrays), np.zeros(1), 1.0) for name, arrays in errors.items()}
        return {"inputs": (seeds, given.seed), **compared}

    def flops(self) -> float:
        """Count the FLOP of all replicas."""
        return self.replicas * self.part().flops()

    def traffic_bytes(self) -> float:
        """Count the bytes of all replicas."""
        return self.replicas * self.part().traffic_bytes()

    def memory_bytes(self) -> float:
        """Count the bytes of one replica: on GPUs, each has a device of its own."""
        return self.part().memory_bytes()


@workload
class _Part(_Net):
    """Train the net of one replica, by the mean of all replicas' gradients."""

    rank: int = 0

    captured = False

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Build the net as `_Net` does; among several replicas, wrap it in `DistributedDataParallel`."""
        super().prepare_torch(a, row)
        if distributed.is_initialized():
            a.model = DistributedDataParallel(a.net)

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare as `_Net` does, and the parameters with the first replica's, which must be equal to the last bit."""
        digest = hashlib.sha256()
        for parameter in seen.parameters:
            digest.update(parameter.detach().cpu().numpy().tobytes())
        first, *_ = of_all(digest.digest())
        unlike = np.array([float(digest.digest() != first)])
        return {"replicas unlike the first": (unlike, np.zeros(1)), **super().check(given, seen)}


@workload
class _Layers(_Part):
    """Train a net of one hidden layer of tanh units."""

    visible: int
    hidden: int

    def make(self) -> nn.Module:
        hidden = nn.Linear(self.visible, self.hidden)
        return nn.Sequential(hidden, Tanh(), nn.Linear(self.hidden, self.classes)).to("meta")

    @property
    def example(self) -> Example:
        """Return the shape of an example, and the bounds 0 and 1 of its values."""
        return (self.visible,), 0.0, 1.0


@workload
class DataParallel(_Replicated):
    """Train replicas of a multi-layer perceptron: softmax(tanh(x W1 + b1) W2 + b2).

    Parameters
    ----------
    visible, hidden, classes : int
        V, H and C.
    batch : int
        B, the examples of all replicas together; each replica has B // R.
    learning_rate : float
    replicas : int
        R, the number of replicas.
    """

    visible: int
    hidden: int

    part_class = _Layers
    tiny: ClassVar = {"visible": 64, "hidden": 32}
    precisions = ("fp32", "fp64")

    def traffic_bytes(self) -> float:
        """Count a read and a write of every replica's parameters and changes, and two reads of the examples."""
        return 4.0 * (4 * self.replicas * self.part().counts.parameters + 2 * self.batch * self.visible)

    def memory_bytes(self) -> float:
        """Count parameters and changes of every replica, and all mini-batches, units and errors."""
        examples = self.batch * (BATCHES * self.visible + 2 * self.hidden + 2 * self.classes)
        return 4.0 * (2 * self.replicas * self.part().counts.parameters + examples)


@workload
class _ConvnetPart(_Part, Convnet):
    """Train a convolutional net on a part of every mini-batch."""


@workload
class ConvnetReplicas(_Replicated):
    """Train replicas of a convolutional net.

    Parameters
    ----------
    network, width, side, classes, update, learning_rate, gradients
        As in `Convnet`.
    batch : int
        The examples of all replicas together; each replica has batch // R.
    replicas : int
        R, the number of replicas.
    """

    network: Literal["alexnet", "vgg16", "resnet50", "resnet152"]
    width: float
    side: int
    update: Literal["sgd"]
    gradients: Literal["parameters"]

    part_class = _ConvnetPart
    tiny: ClassVar = {"network": "alexnet", "width": 0.1, "side": 67}
    precisions = ("fp32", "fp64")
