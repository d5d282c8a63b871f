"""Programs that hardly compute: the sum of two vectors, copies, and steps with almost no work.

They time the memory; if there are few elements, they time the cost of calling a step and of launching it on a device.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.random import Generator
from scipy.special import expit as sigmoid

from respeed.errors import NotMeasurable
from respeed.kernels.layers import add, apply_sigmoid, copy, spread_sigmoid
from respeed.workloads import Arrays, Named, Pair, Pairs, Row, Uniform, Workload, workload
from respeed.workloads.arrays import Drawn, Zeros, chunks, double, symmetric

if TYPE_CHECKING:
    from torch import Tensor

# Elements that a small step spreads over threads: some for each thread, but almost no work.
SPREAD = 4096


@workload
class VectorSum(Workload):
    """Add two vectors, z = x + y: the smallest data-parallel program.

    In C this is a loop; in CUDA, a kernel with one thread for each element. x, y and z are in the device's memory.

    Parameters
    ----------
    length : int
        Elements of each vector.
    threads : int
        How many of the row's threads add; all if 0.
    """

    length: int
    threads: int = 0

    precisions = ("fp32", "fp64")
    products = False

    def arrays(self, random: Generator) -> Named:
        """Draw x and y from [0, 1)."""
        n = self.length
        return {"x": Drawn(random, (n,)), "y": Drawn(random, (n,)), "z": Zeros(n)}

    def torch(self, a: Arrays, row: Row) -> None:
        """Add."""
        import torch

        torch.add(a.x, a.y, out=a.z)

    def numpy(self, a: Arrays, row: Row) -> None:
        """Add by a compiled loop on the row's threads: NumPy adds on one."""
        add(a.z, a.x, a.y)

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare every element of z."""
        pairs = zip(chunks(given.x), chunks(given.y), strict=True)
        return {"z": _whole(seen.z, ((part, x + y) for (part, x), (_, y) in pairs))}

    def flops(self) -> float | None:
        """Count an addition for each element."""
        return float(self.length)

    def traffic_bytes(self) -> float:
        """Count reads of x and y, and writes of z: 12 bytes for each element."""
        return 12.0 * self.length


@workload
class VectorSumCopied(VectorSum):
    """Add two vectors of the host's memory: copy them to the device, add them there, and copy the sum back.

    A step is done when z is in the host's memory. On a CPU there is nothing to copy: the step only adds. Comparing
    both kinds of rows shows from which length on a device is faster in spite of the copies.

    Parameters
    ----------
    memory : {"pinned", "pageable"}
        The kind of the host's memory: page-locked, so that the device itself can read and write it, or an ordinary
        array.
    """

    memory: Literal["pinned", "pageable"]

    # A graph can neither copy pageable memory nor wait.
    captured = False

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Copy x, y and z to the host's memory, and keep the device's arrays for the copies of each step."""
        if row.device.type != "cpu":
            a.on_device = a.x, a.y, a.z
            a.x, a.y, a.z = (on_host(array, self.memory) for array in a.on_device)

    def torch(self, a: Arrays, row: Row) -> None:
        """Copy, add, copy back, and wait."""
        if row.device.type == "cpu":
            super().torch(a, row)
            return
        import torch

        x, y, z = a.on_device
        pinned = self.memory == "pinned"
        x.copy_(a.x, non_blocking=pinned)
        y.copy_(a.y, non_blocking=pinned)
        torch.add(x, y, out=z)
        a.z.copy_(z, non_blocking=pinned)
        row.sync()


@workload
class MemoryCopy(Workload):
    """Copy a vector within the device's memory (on a CPU, the host's), on all threads.

    If the vector is much larger than the caches, only the memory is timed: nothing is computed or used twice.

    Parameters
    ----------
    length : int
        Elements of the vector.
    """

    length: int

    precisions = ("fp32", "fp64")
    products = False

    def arrays(self, random: Generator) -> Named:
        """Draw elements from [0, 1)."""
        return {"source": Drawn(random, (self.length,)), "out": Zeros(self.length)}

    def torch(self, a: Arrays, row: Row) -> None:
        """Copy; where steps are graphs, by a kernel, as a graph's own copy operation is slower than the memory."""
        import torch

        if row.graphs:
            torch.mul(a.source, 1.0, out=a.out)
        else:
            a.out.copy_(a.source)

    def numpy(self, a: Arrays, row: Row) -> None:
        """Copy by a compiled loop on the row's threads: NumPy copies on one."""
        copy(a.out, a.source)

    def jax(self, a: Arrays, uniform: Uniform) -> Named:
        """Copy."""
        import jax.numpy as jnp

        return {"out": jnp.copy(a.source)}

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare every element of the copy."""
        return {"copied": _whole(seen.out, chunks(given.source))}

    def flops(self) -> None:
        """Count nothing: a copy computes nothing."""

    def traffic_bytes(self) -> float:
        """Count a read and a write of each element."""
        return 8.0 * self.length


@workload
class Copies(MemoryCopy):
    """Copy a vector between the host's memory and the device's.

    On a CPU there is only the host's memory: the case is not run there.

    Parameters
    ----------
    direction : {"to", "from"}
        To the device, or from it.
    memory : {"pinned", "pageable"}
        The kind of the host's memory, as in `VectorSumCopied`.
    """

    direction: Literal["to", "from"]
    memory: Literal["pinned", "pageable"]

    frameworks = ("torch", "numpy")
    captured = False

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Move one of the two vectors to the host's memory; NotMeasurable on a CPU."""
        if row.device.type == "cpu":
            self.prepare_numpy(a, row)
        name = "source" if self.direction == "to" else "out"
        setattr(a, name, on_host(getattr(a, name), self.memory))

    def prepare_numpy(self, a: Arrays, row: Row) -> None:
        """Raise NotMeasurable: on a CPU there is nothing to copy."""
        raise NotMeasurable("nothing to copy: this row's arrays lie in the host's memory")

    def torch(self, a: Arrays, row: Row) -> None:
        """Copy; with pinned memory, the copy may still be running on return."""
        a.out.copy_(a.source, non_blocking=self.memory == "pinned")

    def traffic_bytes(self) -> float:
        """Count the bytes that are copied, once."""
        return 4.0 * self.length


@workload
class SmallStep(Workload):
    """Compute x <- 1 / (1 + exp(-x)) for several small arrays x, one after another.

    On a CPU an operation is finished when it returns: "queued" and "graph" cannot be measured there.

    Parameters
    ----------
    count : int
        The number of arrays x.
    how : {"waited", "queued", "graph", "spread"}
        How operations are launched. waited: the host waits for every operation before it launches the next one. queued:
        the host waits only after the last operation of a timed block. graph: one launch runs all operations, if the
        device has graphs. spread: x has 4096 elements, not one, divided among all threads as if there were many: this
        times waking the threads and waiting for them.
    """

    count: int
    how: Literal["waited", "queued", "graph", "spread"]

    precisions = ("fp32",)
    products = False

    @property
    def captured(self) -> bool:  # type: ignore[override]
        """Return whether all operations are captured as one graph."""
        return self.how == "graph"

    def arrays(self, random: Generator) -> Named:
        """Draw each x from [-1, 1)."""
        return {"x": symmetric(random, 1.0, self.count, SPREAD if self.how == "spread" else 1)}

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Split x into its rows; NotMeasurable if operations cannot be launched as `how` says."""
        if row.device.type == "cpu":
            self.prepare_numpy(a, row)
        elif self.how == "spread":
            raise NotMeasurable("an accelerator's threads are not its cores")
        elif self.how == "graph" and not row.graphs:
            raise NotMeasurable("this device has no graphs: operations are launched one by one")
        a.rows = list(a.x)

    def torch(self, a: Arrays, row: Row) -> None:
        """Launch the operation on one x after another."""
        for x in a.rows:
            if self.how == "spread":
                spread_sigmoid(x.numpy())
            else:
                x.sigmoid_()
            if self.how == "waited":
                row.sync()

    def prepare_numpy(self, a: Arrays, row: Row) -> None:
        """Split x into its rows; NotMeasurable if operations cannot be launched as `how` says."""
        if self.how in ("queued", "graph"):
            raise NotMeasurable("an operation is finished when it returns: there is nothing to queue")
        a.rows = list(a.x)

    def numpy(self, a: Arrays, row: Row) -> None:
        """Call a compiled loop for one x after another."""
        apply = spread_sigmoid if self.how == "spread" else apply_sigmoid
        for x in a.rows:
            apply(x)

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare all x."""
        return {"x": (seen.x, sigmoid(double(given.x)))}

    def flops(self) -> None:
        """Count nothing: the arithmetic is negligible."""

    def traffic_bytes(self) -> float:
        """Count a read and a write of each element."""
        return 2 * self.memory_bytes()


def _whole(vector: np.ndarray, expected: Iterable[tuple[slice, np.ndarray]]) -> Pair:
    """Compare a vector of values in [0, 2) with another, chunk by chunk; only each chunk's largest error is kept."""
    errors = np.array([np.abs(vector[part] - values).max() for part, values in expected])
    return errors, np.zeros(len(errors)), 1.0


def on_host(array: "Tensor", memory: str) -> "Tensor":
    """Return a copy of a tensor in the host's memory; NotMeasurable if torch cannot pin memory for its device."""
    if memory == "pinned" and array.device.type != "cuda":
        raise NotMeasurable(f"torch has no pinned memory for {array.device.type}")
    copied = array.to("cpu", copy=True)
    return copied.pin_memory() if memory == "pinned" else copied
