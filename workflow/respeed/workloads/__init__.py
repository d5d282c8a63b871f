"""Workloads: the programs that are timed. One module each, named as in the papers' cases, or, in one of FAMILIES, a
class each.

Every one says what it is in literals (its file's own where its class has none), since they are read without importing
it:

- PARAMETERS: what a case must give, name -> "whole", "real", or a tuple of the texts that it may be;
- TESTS: the parameters of the cases that the conformance suite tries it at, "smoke" (tiny), "odd" (of no round size, so
  that nothing works only for multiples of something) and "large" (so large, about 320 a side, that any array which a
  step allocates is seen: a step may take 100 kB for what is no array).

Where the usual does not hold, it also says

- OPTIONS: as PARAMETERS, what a case may leave out; one that does is the case that it was before there was the option;
- ASKS: what it asks of a backend beyond what every one has (backends.REQUIRED); it runs on those that OFFER all of it;
- BACKENDS and PRECISIONS: those that it runs on and in, where it does not run on and in all that would do;
- PRODUCTS = False: a step has no matrix product, whose rounding to TF32 the check would have to notice;
- ALLOCATES: True, or the precisions in which a step must allocate arrays.

It has

- inputs(case, seed) -> float32 NumPy arrays, the large ones `Drawn`: the same for every backend;
- build(backend, case, inputs) -> program: everything is allocated here;
- reference(case, inputs, seen) -> arrays, or products left undone (Product): the state after one step in NumPy
  float64, given what was `seen` of the program (its random draws); of an array that is among the inputs, what the step
  changed in it;
- flops(case), traffic_bytes(case), memory_bytes(case): arithmetic of a step (None if not known beforehand), the least
  it must read and write, and what the program keeps on the device.

and, for a step that is timed in parts (`parts` of the program), part_weights(case): name -> how often the part counts
in a step of the table.

A step that is a process of its own (program.py) has on_row(case, profile), the case with what the row says of it. Its
first run is never timed, and its program has `run_seconds`, `told`, `happened` (timing.blocks.Timer) and `executables`,
the SHA-256 of what it runs.

What a step asks of the backend goes through `captured`, for each of the arrays that a step may begin with: an
accelerator is then asked once a step, not once an operation.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from respeed.backends import BackendContract, find_named
from respeed.model.paper import Case

# Files that hold several workloads, each a class of its name.
FAMILIES = {
    "convnet": ("convnet", "convnet_replicas"),
    "matmul": ("matmul", "matmul_threads", "sparse_matmul", "cd1_products", "inverse"),
    "mlp": ("mlp", "softmax_regression", "softmax_cost"),
    "pretraining": ("dbn", "sda"),
    "rbm": ("rbm", "rbm_pcd", "rbm_streamed", "rbm_up", "autoencoder"),
    "sparse_coding": ("sparse_descent", "sparse_feature_sign", "sparse_parallel", "sparse_published"),
    "vector_sum": ("vector_sum", "vector_sum_copied", "vector_sum_threads", "copies", "memory_copy"),
}

Arrays = Mapping[str, np.ndarray]
# Arrays, and large random matrices that are drawn anew whenever they are read (`_common.Drawn`).
Inputs = Mapping[str, Any]


class Stack(Protocol):
    """Matrices one after another."""

    def __iter__(self) -> Iterator[np.ndarray]: ...


@dataclass(frozen=True)
class Product:
    """The product factor left @ right, which a reference leaves undone: in float64 it would cost more than what it
    checks. Stacks of matrices, (P, m, k) and (P, k, n), are as many products; `left` may make its own one by one.

    It is compared by what it does to random vectors (Freivalds, Probabilistic machines can use less running time,
    1977): (left @ right) r = left @ (right @ r), for the cost of reading the matrices once.
    """

    left: np.ndarray | Stack
    right: np.ndarray
    factor: float = 1.0


Expected = Mapping[str, np.ndarray | Product]


class Program(Protocol):
    """A workload built on a backend for one case. It may have `helpers`: the ids of processes that compute for it, each
    on one thread."""

    def step(self) -> None:
        """Do one step. Allocates nothing; on an asynchronous backend it need not be finished on return."""

    def state(self) -> Arrays:
        """What the last step left, as NumPy: what `reference` gives, and what it needs to have `seen`. It may share
        memory with the program: use it before the next step."""


class Workload(Protocol):
    """The functions of a workload's module, or methods of its class."""

    def inputs(self, case: Case, seed: int) -> Arrays: ...
    def build(self, backend: BackendContract, case: Case, inputs: Inputs) -> Program: ...
    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected: ...
    def flops(self, case: Case) -> float | None: ...
    def traffic_bytes(self, case: Case) -> float: ...
    def memory_bytes(self, case: Case) -> float: ...


def part_weights(workload: Workload, case: Case) -> dict[str, float]:
    """How often each part of a step counts; empty for a step in one part."""
    weights: Mapping[str, float] = workload.part_weights(case) if hasattr(workload, "part_weights") else {}
    return dict(weights)


def load_workload(name: str) -> Workload:
    """Import the workload `name`."""
    found = find_named("respeed.workloads", FAMILIES, name)
    workload: Workload = found() if isinstance(found, type) else found
    return workload
