"""Workloads: the programs that are timed. One module each, named as in the papers' cases.

Every module has PARAMETERS, which a case must give (name -> "whole" or "real"), and

- inputs(case, seed) -> arrays: float32 NumPy arrays, the same for every backend;
- build(backend, case, inputs) -> program: everything is allocated here;
- reference(case, inputs, seen) -> arrays, or products as Factors: the state after one step in NumPy float64, given
  what was `seen` of the program (its random draws); of an array that is among the inputs, what the step changed in it;
- flops(case), traffic_bytes(case), memory_bytes(case): arithmetic of a step, the least it must read and write, and
  what the program keeps on the device.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from respeed.backends import BackendContract
from respeed.model.paper import Case

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Factors:
    """The product left @ right, which a reference leaves undone: in float64 it would cost more than what it checks.

    It is compared by what it does to random vectors (Freivalds, Probabilistic machines can use less running time,
    1977): (left @ right) r = left @ (right @ r), for the cost of reading the matrices once.
    """

    left: np.ndarray
    right: np.ndarray


Expected = Mapping[str, np.ndarray | Factors]


class Program(Protocol):
    """A workload built on a backend for one case."""

    def step(self) -> None:
        """Do one step. Allocates nothing; on an asynchronous backend it need not be finished on return."""

    def state(self) -> Arrays:
        """What the last step left, copied to NumPy: what `reference` gives, and what it needs to have `seen`."""


class Workload(Protocol):
    """The functions of a workload's module."""

    PARAMETERS: Mapping[str, str]

    def inputs(self, case: Case, seed: int) -> Arrays: ...
    def build(self, backend: BackendContract, case: Case, inputs: Arrays) -> Program: ...
    def reference(self, case: Case, inputs: Arrays, seen: Arrays) -> Expected: ...
    def flops(self, case: Case) -> float: ...
    def traffic_bytes(self, case: Case) -> float: ...
    def memory_bytes(self, case: Case) -> float: ...


def load_workload(name: str) -> Workload:
    """Import the workload `name`."""
    workload: Workload = importlib.import_module(f"respeed.workloads.{name}")
    return workload
