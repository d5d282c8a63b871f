"""SAXPY, BLAS's smallest operation on two vectors, and the first kernel of many courses on GPUs."""

from numpy.random import Generator

from respeed.kernels.layers import add_scaled
from respeed.workloads import Arrays, Named, Pairs, Row, Workload, workload
from respeed.workloads.arrays import double, symmetric


@workload
class Saxpy(Workload):
    """Compute y <- alpha x + y, vectors of `length` elements. y grows until alpha x is less than its last digit."""

    length: int
    alpha: float = 0.5

    precisions = ("fp32", "fp64")
    products = False

    def arrays(self, random: Generator) -> Named:
        """Draw x and y from [-1, 1)."""
        return {name: symmetric(random, 1.0, self.length) for name in ("x", "y")}

    def torch(self, a: Arrays, row: Row) -> None:
        """Add in place."""
        a.y.add_(a.x, alpha=self.alpha)

    def numpy(self, a: Arrays, row: Row) -> None:
        """Add by one compiled loop: NumPy would write alpha x to memory first."""
        add_scaled(a.y, a.x, self.alpha)

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare all of y."""
        change = self.alpha * double(given.x)
        return {"y": (seen.y, change + double(given.y))}

    def flops(self) -> float:
        """Count a multiplication and an addition for each element."""
        return 2.0 * self.length

    def traffic_bytes(self) -> float:
        """Count reads of x and y, and writes of y."""
        return 12.0 * self.length
