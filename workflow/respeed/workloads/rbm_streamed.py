"""The RBM of `rbm` on examples that do not lie on the device: they come from the host in chunks of mini-batches.

As in the paper, examples are copied in large chunks and parameters stay where they are. Of two chunks on the device the
one is learned from while the other is filled: a step waits for a copy only where copying takes longer than learning.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from respeed.backends import Step
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, rbm
from respeed.workloads._common import Drawn

PARAMETERS = {"visible": "whole", "hidden": "whole", "batch": "whole", "learning_rate": "real"}
TESTS = {
    "smoke": {"visible": 16, "hidden": 24, "batch": 8, "learning_rate": 0.05},
    "odd": {"visible": 37, "hidden": 53, "batch": 29, "learning_rate": 0.05},
    "large": {"visible": 320, "hidden": 320, "batch": 320, "learning_rate": 0.05},
}
ASKS = ("dense_layer", "sample_layer", "draws", "stream")

# Mini-batches of a chunk, and chunks that are cycled through: an odd number, so that each comes to both places.
CHUNK, CHUNKS = 8, 3


class _Streamed(rbm.Rbm):
    def capture(self, examples: Sequence[Any]) -> list[Step]:
        """A step for each mini-batch of the two chunks on the device; examples (CHUNKS, CHUNK, B, V)."""
        self.stream = self.backend.stream(list(examples))
        chunks = self.stream.arrays
        return [self.backend.captured(partial(self.train, batch)) for chunk in chunks for batch in chunk]

    def step(self) -> None:
        place = self.count % CHUNK
        if place == 0:
            self.chunk = self.stream.advance()
        self.captured[self.chunk * CHUNK + place]()
        self.count += 1


build = _Streamed


def inputs(case: Case, seed: int) -> Inputs:
    """As rbm's, but examples in chunks, (CHUNKS, CHUNK, B, V)."""
    V, B = int(case.parameters["visible"]), int(case.parameters["batch"])
    return {**rbm.inputs(case, seed), "examples": Drawn((CHUNKS, CHUNK, B, V), 0.0, 1.0, [seed, 1])}


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    return rbm.reference(case, {**inputs, "examples": inputs["examples"][0]}, seen)


def flops(case: Case) -> float:
    return rbm.flops(case)


def traffic_bytes(case: Case) -> float:
    """As rbm's, and the mini-batch written where it is copied to."""
    return rbm.traffic_bytes(case) + _batch_bytes(case)


def memory_bytes(case: Case) -> float:
    """As rbm's, but for the mini-batches: two chunks on the device."""
    return rbm.memory_bytes(case) + (2 * CHUNK - rbm.BATCHES) * _batch_bytes(case)


def _batch_bytes(case: Case) -> float:
    return 4.0 * int(case.parameters["batch"]) * int(case.parameters["visible"])
