"""A step of next to nothing: what is timed is what it takes to ask for it, and on a device to launch it.

`count` times x <- 1 / (1 + exp(-x)), each of another x, asked for in one of these ways:

- waited: of one element; every operation is waited for before the next one is asked for;
- queued: one after another, and only the last of a block is waited for;
- graph: all of them by one request, where the device knows such;
- spread: of a few elements, spread over all threads as if there were many: what it costs to wake them and to meet.

On a CPU an operation is finished when it returns: there is nothing to queue, and no graph.
"""

import numpy as np

from respeed.backends import BackendContract, Step
from respeed.errors import NotMeasurable
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs
from respeed.workloads._common import sigmoid

PARAMETERS = {"count": "whole", "how": ("waited", "queued", "graph", "spread")}
TESTS = {
    "smoke": {"count": 2, "how": "waited"},
    "odd": {"count": 3, "how": "queued"},
    "large": {"count": 64, "how": "spread"},
}
PRECISIONS = ("fp32",)
PRODUCTS = False
ASKS = ("sigmoid",)
# Elements that are spread: some for each thread, and no work worth the name.
SPREAD = 4096


class _SmallStep:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        how = str(case.parameters["how"])
        if backend.synchronous and how in {"queued", "graph"}:
            raise NotMeasurable("an operation is finished when it returns: there is nothing to queue")
        if not backend.synchronous and how == "spread":
            raise NotMeasurable("an accelerator's threads are not its cores")
        self.backend, self.x = backend, backend.array(inputs["start"])  # (count, n)
        self.rows = [self.x[place] for place in range(len(inputs["start"]))]
        ways = {"waited": self.wait_each, "queued": self.ask, "spread": self.spread}
        self.step = ways[how] if how in ways else self.as_graph()

    def as_graph(self) -> Step:
        graph = self.backend.captured(self.ask)
        if graph == self.ask:
            raise NotMeasurable("this device is asked operation by operation: it makes no graphs")
        return graph

    def ask(self) -> None:
        for row in self.rows:
            self.backend.sigmoid(row)

    def wait_each(self) -> None:
        for row in self.rows:
            self.backend.sigmoid(row)
            self.backend.sync()

    def spread(self) -> None:
        with self.backend.rehearsals()[-1]:  # the last one is of all threads
            self.ask()

    def state(self) -> Arrays:
        return {"x": self.backend.host(self.x)}


build = _SmallStep


def inputs(case: Case, seed: int) -> Inputs:
    """Where each x begins: zeros."""
    return {"start": np.zeros(_shape(case), np.float32)}


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    return {"x": sigmoid(inputs["start"].astype(np.float64))}


def flops(case: Case) -> float | None:
    """None: nobody counts them."""
    return None


def traffic_bytes(case: Case) -> float:
    """Each element read and written, fp32."""
    return 2 * memory_bytes(case)


def memory_bytes(case: Case) -> float:
    """All x, fp32."""
    count, n = _shape(case)
    return 4.0 * count * n


def _shape(case: Case) -> tuple[int, int]:
    return int(case.parameters["count"]), SPREAD if case.parameters["how"] == "spread" else 1
