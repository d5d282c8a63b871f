"""What the sums of two vectors have in common: their inputs, how they are checked, and their arithmetic."""

from collections.abc import Iterator

import numpy as np

from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs
from respeed.workloads._common import Drawn

# Elements that are checked one by one, evenly spread, and elements whose sum is checked: so few of [0, 2) that one
# which is missing shows in it.
CHECKED = 2**16
TOGETHER = 1024


def draw_vectors(case: Case, seed: int) -> Inputs:
    """a and b, uniform in [0, 1)."""
    n = length(case)
    return {"a": Drawn((n,), 0.0, 1.0, seed), "b": Drawn((n,), 0.0, 1.0, [seed, 1])}


def summary(c: np.ndarray) -> Arrays:
    """Elements of the sum from all over it, and what every TOGETHER of them add up to."""
    return {"elements": c[places(len(c))], "together": added(c)}


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """The summary in float64, chunk after chunk."""
    n = len(inputs["a"])
    chosen, elements, together = places(n), [], []
    for rows, c in _chunks(inputs):
        elements.append(c[chosen[(chosen >= rows.start) & (chosen < rows.stop)] - rows.start])
        together.append(added(c))
    return {"elements": np.concatenate(elements), "together": np.concatenate(together)}


def _chunks(inputs: Inputs) -> Iterator[tuple[slice, np.ndarray]]:
    """a + b; a chunk is as long as many times TOGETHER."""
    for (rows, a), (_, b) in zip(inputs["a"].chunks(), inputs["b"].chunks(), strict=True):
        yield rows, a + b


def places(n: int) -> np.ndarray:
    """Places from the first to the last, all of them where there are few."""
    return np.unique(np.linspace(0, n - 1, min(n, CHECKED)).astype(np.int64))


def added(c: np.ndarray) -> np.ndarray:
    return np.add.reduceat(c, np.arange(0, len(c), TOGETHER), dtype=np.float64)


def flops(case: Case) -> float:
    """An addition an element."""
    return float(length(case))


def traffic_bytes(case: Case) -> float:
    """a and b read, c written, fp32: 12 bytes an element."""
    return 12.0 * length(case)


def memory_bytes(case: Case) -> float:
    """a, b and c, fp32."""
    return traffic_bytes(case)


def length(case: Case) -> int:
    return int(case.parameters["length"])
