"""NAME: spectra of real signals by a call to a library, to be replaced by what you want to time."""

import math

import numpy as np
from numpy.random import Generator

from respeed.workloads import Arrays, Named, Pairs, Row, Workload, workload
from respeed.workloads.arrays import Drawn, checked_rows


@workload
class NAME(Workload):
    """Transform B real signals of N samples: y_bk = sum over n of x_bn exp(-2 pi i k n / N), k = 0 ... N / 2.

    Write here what is computed, and the paper, section and equation that it follows.
    """

    # The parameters of a case: an int is at least 1; a float is any number; a Literal["a", "b"] is one of its
    # texts. A parameter with a default may be left out.
    length: int  # N
    batch: int  # B

    # Leave these out where they do not hold. The precisions in which the library computes.
    precisions = ("fp32", "fp64")
    # No matrix product decides the result: otherwise tests would plant rounded products, which the check must see.
    products = False
    # Each thread works on a part of the arrays by itself. True where all work on each operation together and wait for
    # the slowest, as in a matrix product: it decides how much of a busy neighbour is taken out of the time.
    together = False
    # The library allocates memory: otherwise the tests require that a step allocates nothing.
    allocates = True
    # There are more, such as the learned arrays (learned = ("W",)): class Workload has all, with a comment each.

    def arrays(self, random: Generator) -> Named:
        """Return all arrays by name. A step has them as attributes of `a`, on the row's device and in its precision.

        Large ones are `Drawn`: they are made where they are needed, and again for the check. `Zeros(m, n)` is an
        array that a step writes to.
        """
        return {"x": Drawn(random, (self.batch, self.length), -1.0)}

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Make once what `arrays` cannot: here y, which is complex. Leave this method out if a step needs no such."""
        import torch

        a.y = torch.fft.rfft(a.x)

    def torch(self, a: Arrays, row: Row) -> None:
        """Do a step, as users of PyTorch write it, into arrays that exist. On a device, do not wait for it here.

        With a method `numpy` it runs on NumPy's rows as well, with a method `jax` on JAX's.
        """
        import torch

        torch.fft.rfft(a.x, out=a.y)

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Pair the results of the step with the same in NumPy's float64, here of some signals.

        A program that is off by more than 1e-4 of the largest number is not timed. It is checked after the first step
        and after the last: before that one, inputs are drawn anew, and `Zeros` become NaN.
        """
        rows = checked_rows(self.batch)
        return {"y": (seen.y[rows], np.fft.rfft(np.asarray(given.x, np.float64)[rows]))}

    def flops(self) -> float:
        """Count 2.5 N log2 N a signal, as FFTW's benchmark does (fftw.org/speed/method.html)."""
        return 2.5 * self.batch * self.length * math.log2(self.length)

    def traffic_bytes(self) -> float:
        """Count the fewest bytes that a step reads and writes, in fp32: x and y, once each."""
        return 4.0 * self.batch * (self.length + 2 * (self.length // 2 + 1))

    def memory_bytes(self) -> float:
        """Count the bytes kept on the device, in fp32. Without this method they are those of `arrays`."""
        return self.traffic_bytes()
