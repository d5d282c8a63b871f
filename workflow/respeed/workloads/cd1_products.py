"""The bare matrix products of one CD-1 mini-batch, to tell the overhead of the workloads rbm and patches: their floor.

For each of P patches, or for the one matrix of a dense RBM, P = 1, with W (V, H) and X (B, V):

    Y0 = X W (B, H)    Z = Y0 W^T (B, V)    Y1 = Z W (B, H)    G = [X; Z]^T [Y0; Y1] (V, H)

Five products of 2 B V H FLOP a patch; the gradient's two are one over 2 B rows, as those workloads do it. Every array
is a stack, (P, V, H), (P, 2B, V) or (P, 2B, H). No patch adds to another.
"""

from typing import NamedTuple

import numpy as np

from respeed.backends import Array, BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, Product
from respeed.workloads._common import Drawn, checked_rows

PARAMETERS = {"visible": "whole", "hidden": "whole", "batch": "whole", "patches": "whole"}
TESTS = {
    "smoke": {"visible": 16, "hidden": 24, "batch": 8, "patches": 2},
    "odd": {"visible": 37, "hidden": 53, "batch": 29, "patches": 31},
    "large": {"visible": 320, "hidden": 320, "batch": 320, "patches": 1},
}
ASKS = ("each", "stack_bytes")


class _Stack(NamedTuple):
    """The arrays of some patches, or the matrices of one."""

    weights: Array
    gradient: Array
    visible: Array  # [X; Z]
    hidden: Array  # [Y0; Y1]
    x: Array
    z: Array
    y0: Array
    y1: Array


class _Products:
    """Goes through the patches in stacks, each from its first product to its last. On a CPU every lane does so with
    stacks of its own, on one core, as in the workload patches; a single matrix is multiplied by all of them.
    """

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        P, V, H, B = _sizes(case)
        self.backend, self.batch, self.rows = backend, B, inputs["rows"]
        self.weights = backend.parameters(inputs["weights"])  # (P, V, H)
        self.gradient = backend.zeros(P, V, H)
        self.visible = backend.array(inputs["visible"])  # (P, 2B, V)
        self.hidden = backend.zeros(P, 2 * B, H)
        self.stacks = [self._stack(which) for which in _stacks(case, backend.stack_bytes)]
        self.step = backend.captured(self._multiply_all)

    def _stack(self, which: int | slice) -> _Stack:
        visible, hidden, B = self.visible[which], self.hidden[which], self.batch
        return _Stack(
            weights=self.weights[which], gradient=self.gradient[which], visible=visible, hidden=hidden,
            x=visible[..., :B, :], z=visible[..., B:, :], y0=hidden[..., :B, :], y1=hidden[..., B:, :],
        )  # fmt: skip

    def _multiply_all(self) -> None:
        self.backend.each(self.stacks, self._multiply)

    def _multiply(self, stack: _Stack, lane: int) -> None:
        gemm = self.backend.gemm
        gemm(stack.x, stack.weights, stack.y0)
        gemm(stack.y0, stack.weights, stack.z, transpose_b=True)
        gemm(stack.z, stack.weights, stack.y1)
        gemm(stack.visible, stack.hidden, stack.gradient, transpose_a=True)

    def state(self) -> Arrays:
        host, B, rows = self.backend.host, self.batch, self.rows
        visible, hidden = host(self.visible), host(self.hidden)
        return {
            "y0": hidden[:, rows],
            "z": visible[:, B + rows],
            "y1": hidden[:, B + rows],
            "gradient": host(self.gradient),
            "visible": visible,
            "hidden": hidden,
        }


build = _Products


def inputs(case: Case, seed: int) -> Inputs:
    """W and X uniform in [-1, 1), W scaled by sqrt(3 / max(V, H)) so that repeated products neither grow nor vanish;
    `visible`: X, and below it what Z is written over; `rows`: the examples that are checked, the same of every patch.
    """
    P, V, H, B = _sizes(case)
    half = (3.0 / max(V, H)) ** 0.5
    return {
        "weights": Drawn((P, V, H), -half, half, seed),
        "visible": Drawn((P, 2 * B, V), -1.0, 1.0, [seed, 1]),
        "rows": checked_rows(B, seed),
    }


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """The products in float64 for the checked examples, one patch at a time; the gradient from those of all examples,
    as they were seen."""
    weights, rows = inputs["weights"], inputs["rows"]
    y0 = [W.times(X[rows].astype(np.float64)) for W, X in zip(weights, map(np.asarray, inputs["visible"]), strict=True)]
    z = [W.transposed_times(y) for W, y in zip(weights, y0, strict=True)]
    y1 = [W.times(x) for W, x in zip(weights, z, strict=True)]
    return {
        "y0": np.stack(y0),
        "z": np.stack(z),
        "y1": np.stack(y1),
        "gradient": Product(seen["visible"].transpose(0, 2, 1), seen["hidden"]),
    }


def flops(case: Case) -> float:
    """Five products of every patch, 10 P B V H."""
    P, V, H, B = _sizes(case)
    return 10.0 * P * B * V * H


def traffic_bytes(case: Case) -> float:
    """Of every patch W read by three products, the gradient written; activations written once, read by what uses them,
    fp32."""
    P, V, H, B = _sizes(case)
    return 4.0 * P * (4 * V * H + B * (5 * V + 5 * H))


def memory_bytes(case: Case) -> float:
    P, V, H, B = _sizes(case)
    return 4.0 * P * (2 * V * H + 2 * B * (V + H))


def _stacks(case: Case, most: float) -> list[int | slice]:
    """Patches, as many together as have visible units of both phases of at most so many bytes, as in the workload
    patches. One patch is named by its number, so that its arrays are matrices, as those of the workload rbm are."""
    P, V, _, B = _sizes(case)
    count = int(min(P, max(1.0, most / (4 * 2 * B * V))))  # not //, which makes nan of an accelerator's infinity
    return [first if count == 1 else slice(first, first + count) for first in range(0, P, count)]


def _sizes(case: Case) -> tuple[int, int, int, int]:
    sizes = case.parameters  # perhaps those of an RBM, whose products are asked for: one patch
    return int(sizes.get("patches", 1)), int(sizes["visible"]), int(sizes["hidden"]), int(sizes["batch"])
