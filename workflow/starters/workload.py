"""NAME: spectra of real signals by a call to a library, to be replaced by what you want to time.

Y[b, k] = sum over n of X[b, n] exp(-2 pi i k n / N),  k = 0 ... N / 2        X (B, N) real, Y (B, N // 2 + 1) complex

Counted as FFTW's benchmark does (fftw.org/speed/method.html): 2.5 N log2 N a signal.
Source: the paper, section and equation that the step follows.
"""

import math

import numpy as np
import torch

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs
from respeed.workloads._common import Drawn, checked_rows

# What a case must give: "whole", "real", or a tuple of the texts that it may be.
PARAMETERS = {"length": "whole", "batch": "whole"}
# What the conformance suite tries: tiny, of no round size, and large enough for an allocated array to be seen.
TESTS = {
    "smoke": {"length": 16, "batch": 8},
    "odd": {"length": 37, "batch": 29},
    "large": {"length": 320, "batch": 320},
}
# The four lines that a call to a library needs. Without them a step is made of the backends' operations (gemm, copy:
# workloads/matmul.py is the smallest), runs wherever these are, and allocates nothing.
BACKENDS = ("torch",)  # whose arrays the library takes; and the devices of that backend
PRECISIONS = ("fp32", "fp64")  # in which it computes
PRODUCTS = False  # leave it out if a matrix product decides the result: then the suite tries whether TF32 would show
ALLOCATES = True  # the library takes memory by itself: leave it out if it does not, and the suite holds the step to it
# What it asks of a backend beyond what every one has, such as ("sample_layer", "draws"); leave it out if nothing.
ASKS = ()


class _Spectra:
    """What can be made before the step is made here."""

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        self.rows = inputs["rows"]
        self.x = backend.array(inputs["x"])  # (B, N), a tensor on the row's device
        self.y = torch.fft.rfft(self.x)  # (B, N // 2 + 1)

    def step(self) -> None:
        """The plain call. It uses the row's threads and device; on a device nobody waits for it here.

        What is many short calls goes through backend.captured(...), where the library allows that: one request."""
        torch.fft.rfft(self.x, out=self.y)

    def state(self) -> Arrays:
        """What `reference` is compared with: of the signals that are checked."""
        return {"y": self.y[self.rows].cpu().numpy()}


def build(backend: BackendContract, case: Case, inputs: Inputs) -> _Spectra:
    return _Spectra(backend, case, inputs)


def inputs(case: Case, seed: int) -> Inputs:
    """X uniform in [-1, 1); `rows`: the signals that are checked. Large arrays are `Drawn`: they are made where they
    are needed, and again for the check."""
    N, B = _sizes(case)
    return {"x": Drawn((B, N), -1.0, 1.0, seed), "rows": checked_rows(B, seed)}


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """The same in NumPy float64, for a few signals. A program that is off by more than 1e-4 is not timed."""
    return {"y": np.fft.rfft(np.asarray(inputs["x"])[inputs["rows"]].astype(np.float64))}


def flops(case: Case) -> float:
    """2.5 N log2 N a signal."""
    N, B = _sizes(case)
    return 2.5 * B * N * math.log2(N)


def traffic_bytes(case: Case) -> float:
    """The least that a step reads and writes: X and Y once each, fp32."""
    N, B = _sizes(case)
    return 4.0 * B * (N + 2 * (N // 2 + 1))


def memory_bytes(case: Case) -> float:
    """What the program keeps on the device; the same arrays."""
    return traffic_bytes(case)


def _sizes(case: Case) -> tuple[int, int]:
    return int(case.parameters["length"]), int(case.parameters["batch"])
