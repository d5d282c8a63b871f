"""Fourier transforms of many complex signals, by each framework's own library."""

import math

import numpy as np
from numpy.random import Generator
from scipy.fft import fft

from respeed.workloads import Arrays, Named, Pairs, Row, Workload, workload
from respeed.workloads.arrays import Zeros, double, symmetric


@workload
class Fft(Workload):
    """Transform B complex signals of N samples: y_bk = sum over n of x_bn exp(-2 pi i k n / N), k = 0 ... N - 1.

    Parameters
    ----------
    length : int
        N.
    batch : int
        B.
    """

    length: int
    batch: int

    precisions = ("fp32", "fp64")
    products = False
    allocates = True

    def arrays(self, random: Generator) -> Named:
        """Draw real and imaginary parts from [-1, 1); the two parts of a sample are neighbours in memory."""
        shape = (self.batch, self.length, 2)
        return {"x": symmetric(random, 1.0, *shape), "y": Zeros(*shape)}

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """View x and y as complex numbers."""
        import torch

        a.signals = torch.view_as_complex(a.x)
        a.spectra = torch.view_as_complex(a.y)

    def torch(self, a: Arrays, row: Row) -> None:
        """Transform by torch's library: MKL, cuFFT or rocFFT."""
        import torch

        torch.fft.fft(a.signals, out=a.spectra)

    def prepare_numpy(self, a: Arrays, row: Row) -> None:
        """View x and y as complex numbers."""
        a.signals = a.x.view(np.result_type(a.x, 1j))[..., 0]
        a.spectra = a.y.view(np.result_type(a.y, 1j))[..., 0]

    def numpy(self, a: Arrays, row: Row) -> None:
        """Transform by SciPy, on each thread a part of the signals, and copy the result."""
        signals = np.array_split(a.signals, row.threads)
        spectra = np.array_split(a.spectra, row.threads)

        def transform(part: int) -> None:
            spectra[part][...] = fft(signals[part])

        row.each(range(min(row.threads, self.batch)), transform)

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare all of y."""
        x = double(given.x)
        y = fft(x.view(np.complex128)[..., 0])
        return {"y": (seen.y, y.view(np.float64).reshape(x.shape))}

    def flops(self) -> float:
        """Count 5 N log2 N for each signal, as FFTW's benchmark does (fftw.org/speed/method.html)."""
        return 5.0 * self.batch * self.length * math.log2(self.length)

    def traffic_bytes(self) -> float:
        """Count a read of x and a write of y."""
        return 16.0 * self.batch * self.length
