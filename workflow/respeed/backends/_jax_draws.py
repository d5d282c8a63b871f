"""Uniform draws of JAX: never written down, as they follow from the key that they were made of."""

from typing import Any

import jax
import numpy as np

from respeed.backends._jax_box import Box


class KeyedDraws:
    """`_next` is the key of what is still to come, `_used` that of the last draws. Both are written by the step."""

    def __init__(self, shape: tuple[int, ...], key: Any, used: Any) -> None:
        self._shape, self._next, self._used = shape, Box(key), Box(used)

    def fresh(self) -> Any:
        """Draws in fp32, whatever the precision of what they are compared with."""
        following, used = jax.random.split(self._next.get())
        self._next.put(following)
        self._used.put(used)
        return _uniform(used, self._shape)

    def last(self, rows: np.ndarray | None = None) -> np.ndarray:
        drawn = np.asarray(_uniform(self._used.value, self._shape))
        return drawn if rows is None else drawn[..., rows, :]


def _uniform(key: Any, shape: tuple[int, ...]) -> Any:
    """Of 24 bits, as many as fp32 has; those of jax.random.uniform are of 23."""
    return (jax.random.bits(key, shape, np.uint32) >> 8).astype(np.float32) * np.float32(2.0**-24)
