"""A step as one compiled program."""

from collections.abc import Sequence
from typing import Any

import jax

from respeed.backends import Step
from respeed.backends._jax_box import Box, look_through


class Program:
    """Each call runs what XLA compiled of the step, when it was captured: nothing is traced or compiled by then.

    Its arguments are the arrays that the step touches. Those that it writes to are donated: the results take their
    place in the memory.
    """

    def __init__(self, step: Step, compiled: dict[str, Any]) -> None:
        """`compiled` are the programs that there are, by their text: those of other mini-batches are the same."""
        # Its boxes are in the lists; what else it holds must live as long.
        self._step = step
        touched = look_through(step)
        self._written = list(touched.written)
        self._read = [box for box in touched.before if box not in touched.written]
        lowered = jax.jit(self._run, donate_argnums=0, keep_unused=True).lower(_like(self._written), _like(self._read))
        touched.restore()
        text = lowered.as_text()
        if text not in compiled:
            compiled[text] = lowered.compile()
        self._compiled = compiled[text]
        self.results: Sequence[Any] = ()

    def _run(self, written: Sequence[Any], read: Sequence[Any]) -> list[Any]:
        """The step as a function, which JAX traces."""
        for box, value in zip((*self._written, *self._read), (*written, *read), strict=True):
            box.value = value
        self._step()
        return [box.value for box in self._written]

    def __call__(self) -> None:
        self.results = self._compiled([box.value for box in self._written], [box.value for box in self._read])
        for box, value in zip(self._written, self.results, strict=True):
            box.value = value


def _like(boxes: Sequence[Box]) -> list[Any]:
    """Where they are, too: or else XLA would compile for JAX's first device, whichever the row's is."""
    values = [box.value for box in boxes]
    return [jax.ShapeDtypeStruct(value.shape, value.dtype, sharding=value.sharding) for value in values]
