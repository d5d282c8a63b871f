"""A step of next to nothing: what is timed is what it takes to ask for it, and on a device to launch it."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from respeed.errors import NotMeasurable
from respeed.kernels.vectors import apply_sigmoid, spread_sigmoid
from respeed.workloads import Arrays, Pairs, Row, Workload
from respeed.workloads.arrays import Drawn, sigmoid

# Elements that are spread: some for each thread, and no work worth the name.
SPREAD = 4096


@dataclass(frozen=True, kw_only=True)
class SmallStep(Workload):
    """Compute x <- 1 / (1 + exp(-x)) of several x, one after another.

    On a CPU an operation is finished when it returns: there is nothing to queue, and no graph.

    Parameters
    ----------
    count : int
        How many x there are.
    how : {"waited", "queued", "graph", "spread"}
        How they are asked for. waited: x has one element, and every operation is waited for before the next one is
        asked for. queued: only the last one of a block is waited for. graph: all by one request, where the device knows
        such. spread: x has a few elements, spread over all threads as if there were many: what it costs to wake them
        and to meet.
    """

    count: int
    how: Literal["waited", "queued", "graph", "spread"]

    precisions: ClassVar = ("fp32",)
    products: ClassVar = False
    tests: ClassVar = {
        "smoke": {"count": 2, "how": "waited"},
        "odd": {"count": 3, "how": "queued"},
        "large": {"count": 64, "how": "spread"},
    }

    @property
    def captured(self) -> bool:  # type: ignore[override]
        """Return whether all operations are one request."""
        return self.how == "graph"

    def arrays(self, random: np.random.Generator) -> dict[str, Any]:
        """Draw each x from [-1, 1)."""
        return {"x": Drawn(random, (self.count, SPREAD if self.how == "spread" else 1), -1.0)}

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Take the rows of x apart; NotMeasurable where they cannot be asked for so."""
        if row.device.type == "cpu":
            self.prepare_numpy(a, row)
        elif self.how == "spread":
            raise NotMeasurable("an accelerator's threads are not its cores")
        elif self.how == "graph" and not row.graphs:
            raise NotMeasurable("this device is asked operation by operation: it makes no graphs")
        a.rows = list(a.x)

    def torch(self, a: Arrays, row: Row) -> None:
        """Ask for one x after another."""
        for x in a.rows:
            if self.how == "spread":
                spread_sigmoid(x.numpy())
            else:
                x.sigmoid_()
            if self.how == "waited":
                row.sync()

    def prepare_numpy(self, a: Arrays, row: Row) -> None:
        """Take the rows of x apart; NotMeasurable where they cannot be asked for so."""
        if self.how in ("queued", "graph"):
            raise NotMeasurable("an operation is finished when it returns: there is nothing to queue")
        a.rows = list(a.x)

    def numpy(self, a: Arrays, row: Row) -> None:
        """Call a compiled pass for one x after another."""
        apply = spread_sigmoid if self.how == "spread" else apply_sigmoid
        for x in a.rows:
            apply(x)

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare all x."""
        return {"x": (seen.x, sigmoid(np.asarray(given.x, np.float64)))}

    def flops(self) -> float | None:
        """Count nothing: nobody does."""
        return None

    def traffic_bytes(self) -> float:
        """Count each element, read and written."""
        return 2 * self.memory_bytes()
