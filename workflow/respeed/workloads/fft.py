"""Spectra of real signals, by the framework's own FFT."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from respeed.workloads import Arrays, Pairs, Row, Workload
from respeed.workloads.arrays import Drawn, checked_rows


@dataclass(frozen=True, kw_only=True)
class Fft(Workload):
    """Transform B real signals of N samples: y_bk = sum over n of x_bn exp(-2 pi i k n / N), k = 0 ... N / 2."""

    length: int  # N
    batch: int  # B

    precisions: ClassVar = ("fp32", "fp64")
    products: ClassVar = False
    allocates: ClassVar = True
    tests: ClassVar = {
        "smoke": {"length": 16, "batch": 8},
        "odd": {"length": 37, "batch": 29},
        "large": {"length": 320, "batch": 320},
    }

    def arrays(self, random: np.random.Generator) -> dict[str, Any]:
        """Draw samples from [-1, 1)."""
        return {"x": Drawn(random, (self.batch, self.length), -1.0)}

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Make room for y, which is complex."""
        import torch

        a.y = torch.fft.rfft(a.x)

    def torch(self, a: Arrays, row: Row) -> None:
        """Transform."""
        import torch

        torch.fft.rfft(a.x, out=a.y)

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare the spectra of some signals."""
        rows = checked_rows(self.batch)
        return {"y": (seen.y[rows], np.fft.rfft(np.asarray(given.x, np.float64)[rows]))}

    def flops(self) -> float:
        """Count 2.5 N log2 N a signal, as FFTW's benchmark does (fftw.org/speed/method.html)."""
        return 2.5 * self.batch * self.length * math.log2(self.length)

    def traffic_bytes(self) -> float:
        """Count x, read, and y, written."""
        return 4.0 * self.batch * (self.length + 2 * (self.length // 2 + 1))

    def memory_bytes(self) -> float:
        """Count x and y."""
        return self.traffic_bytes()
