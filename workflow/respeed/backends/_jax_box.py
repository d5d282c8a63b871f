"""Arrays that can be written to, of JAX's, which cannot.

A box holds the array of now, and what writes to it puts another one there. A view is a part of a box, or a box in
another shape: it is taken out of the box whenever it is read, and put back when it is written to. While a step is
traced, both hold what the step would have computed, and XLA makes of it all one program.
"""

from collections.abc import Callable, Iterator
from typing import Any, cast

import jax


class Touched:
    """The boxes that a step reads or writes, and what was in them before."""

    def __init__(self) -> None:
        self.before: dict[Box, Any] = {}
        self.written: dict[Box, None] = {}

    def restore(self) -> None:
        for box, value in self.before.items():
            box.value = value


# Who notes down what is touched, while a step is looked through.
_noted: list[Touched] = []


class Box:
    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def shape(self) -> tuple[int, ...]:
        return cast(tuple[int, ...], self.value.shape)

    def get(self) -> Any:
        for touched in _noted:
            touched.before.setdefault(self, self.value)
        return self.value

    def put(self, value: Any) -> Any:
        """The array that the box, or the one that this is a view of, holds from now on."""
        for touched in _noted:
            touched.before.setdefault(self, self.value)
            touched.written[self] = None
        self.value = value
        return value

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator["Box"]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, index: Any) -> "Box":
        return View(self, lambda whole: whole[index], lambda whole, part: whole.at[index].set(part))

    def reshape(self, *shape: Any) -> "Box":
        return View(self, lambda whole: whole.reshape(*shape), lambda whole, part: part.reshape(whole.shape))


class View(Box):
    """`take` makes it of the whole, and `give` the whole of it and of what the whole was."""

    def __init__(self, whole: Box, take: Callable[[Any], Any], give: Callable[[Any, Any], Any]) -> None:
        self._whole, self._take, self._give = whole, take, give
        like = jax.ShapeDtypeStruct(whole.shape, "float32")
        self._shape = cast(tuple[int, ...], jax.eval_shape(take, like).shape)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    def get(self) -> Any:
        return self._take(self._whole.get())

    def put(self, value: Any) -> Any:
        return self._whole.put(self._give(self._whole.get(), value))


def look_through(step: Callable[[], None]) -> Touched:
    """What the step touches: it is traced and nothing is computed. All boxes are then as they were."""
    touched = Touched()
    _noted.append(touched)
    try:
        jax.eval_shape(step)
    finally:
        _noted.remove(touched)
        touched.restore()
    return touched
