"""JAX: arrays that can be written to, steps as one compiled program, draws by key, and what a row says of itself.

A box holds the array of now, and what writes to it puts another one there. A view is a part of a box, or a box in
another shape: it is taken out of the box whenever it is read, and put back when it is written to. While a step is
traced, both hold what the step would have computed, and XLA makes of it all one program. Draws are never
written down, as they follow from the key that they were made of.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np

from respeed.backends import Step, host_dtype
from respeed.backends._jax_pool import pool_size
from respeed.errors import NotMeasurable
from respeed.machine.accelerators import NAMES, split_device, too_high
from respeed.text import first_line


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


# JAX's names of the kinds of devices. It calls NVIDIA's and AMD's both gpu, as torch calls both cuda.
PLATFORMS = {"cpu": "cpu", "cuda": "gpu", "tpu": "tpu"}


class Jax:
    """Sets JAX up; the part of the contract that is arrays and products."""

    def __init__(self, device: str, precision: str, threads: int) -> None:
        kind, index = split_device(device)
        # Or else XLA would hand each program to a thread of its own: one thread would be two.
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        # fp32 is fp32: no TF32 on NVIDIA's, no bf16 on TPUs, which take several of these products for one.
        jax.config.update("jax_default_matmul_precision", "highest")
        # Of the whole process: that of the row that was made last.
        jax.config.update("jax_enable_x64", precision == "fp64")
        self._device = find_device(kind, index)
        self._name, self.precision, self.threads = device, precision, threads
        self.dtype = self.host_dtype = host_dtype(precision)
        self.memory_factor = self.host_dtype.itemsize / 4
        self.synchronous = kind == "cpu"
        self.shares_cores = kind == "cpu"
        self._programs: dict[str, Any] = {}
        self._asked: Any = ()

    def array(self, values: np.ndarray) -> Box:
        return self._box(np.asarray(values, self.dtype))

    def _box(self, values: np.ndarray) -> Box:
        """Of the device's own memory: on the CPU JAX may take NumPy's as it is, where nothing may be written."""
        return Box(_copied(jax.device_put(values, self._device), values.shape))

    def zeros(self, *shape: int) -> Box:
        return self._box(np.zeros(shape, self.dtype))

    def parameters(self, values: np.ndarray) -> Box:
        return self.array(values)

    def host(self, array: Box) -> np.ndarray:
        return np.asarray(array.get())

    def captured(self, step: Step) -> Step:
        asked = self._asked
        program = Program(step, self._programs)
        self._asked = asked  # what the step asked for while it was traced is nothing to wait for

        def run() -> None:
            program()
            self._asked = program.results

        return run

    def rehearsals(self) -> Sequence[AbstractContextManager[None]]:
        return (nullcontext(),)  # a large program is compiled when it is built

    def bytes_free(self) -> float | None:
        if self._device.platform == "cpu":
            return None
        memory = self._device.memory_stats() or {}
        return float(memory["bytes_limit"] - memory["bytes_in_use"]) if "bytes_limit" in memory else None

    def sync(self) -> None:
        # A device does what it is asked for in turn: when the last is done, all is.
        jax.block_until_ready(self._asked)

    def do(self, function: Callable[..., Any], *inputs: Any, out: Box, **options: Any) -> None:
        """out <- function of the inputs, boxes or arrays, compiled for these shapes and options."""
        values = (one.get() if isinstance(one, Box) else one for one in inputs)
        self._asked = out.put(_compiled(function, tuple(options))(*values, **options))

    def copy(self, source: Box, out: Box) -> None:
        self.do(_copy, source, out=out, shape=out.shape)

    def add(self, source: Box, out: Box) -> None:
        self.do(jnp.add, out, source, out=out)

    def sum(self, a: Box, b: Box, out: Box) -> None:
        self.do(jnp.add, a, b, out=out)

    def gemm(
        self,
        a: Box,
        b: Box,
        out: Box,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        turns = {"transpose_a": transpose_a, "transpose_b": transpose_b}
        if beta == 0.0:  # what is in `out` is not read
            self.do(_product, a, b, out=out, **turns, alpha=alpha)
        else:
            self.do(_added_product, a, b, out, out=out, **turns, alpha=alpha, beta=beta)

    def factors(self, n: int) -> Any:
        """The inverse's program: it is not captured, and would be compiled by the first step."""
        like = jax.ShapeDtypeStruct((n, n), self.dtype, sharding=jax.sharding.SingleDeviceSharding(self._device))
        return jax.jit(jnp.linalg.inv).lower(like).compile()

    def inverse(self, a: Box, factors: Any, out: Box) -> None:
        self._asked = out.put(factors(a.get()))

    def describe(self) -> dict[str, Any]:
        here = self._device
        facts: dict[str, Any] = {
            "package": f"jax {jax.__version__}",
            "library": f"XLA (jaxlib {jaxlib.__version__})",
            "device": self._name,
            "precision": self.precision,
            "threads_set": pool_size(),
            "platform": f"{here.platform} {here.client.platform_version}".replace("\n", " "),
            "default_matmul_precision": str(jax.config.jax_default_matmul_precision),
        }
        if here.platform == "cpu":
            return facts
        facts["accelerator"] = str(here.device_kind)
        if limit := (here.memory_stats() or {}).get("bytes_limit"):
            facts["memory_bytes"] = int(limit)
        return facts


def find_device(kind: str, index: int | None) -> Any:
    """The device; NotMeasurable with the reason if JAX has none such."""
    try:
        devices = jax.devices(PLATFORMS[kind])
    except RuntimeError as error:
        none = f"no {NAMES[kind]} device that jax {jax.__version__} can use"
        raise NotMeasurable(f"{none}: {first_line(error)}") from error
    if reason := too_high(kind, index or 0, len(devices)) if index else None:
        raise NotMeasurable(reason)
    return devices[index or 0]


def probe_device(device: str, precisions: Sequence[str]) -> dict[str, Any]:
    """Use the device for a moment. Return for each precision why it cannot be measured, None if it can, and whether
    that stays so until driver, JAX or device change."""
    kind, index = split_device(device)
    reason = None
    try:
        here = find_device(kind, index)
        square = np.arange(16, dtype=np.float32).reshape(4, 4)
        there = jax.device_put(square, here)
        if not np.array_equal(np.asarray(there @ there), square @ square):
            reason = f"a small product on it is wrong, with jax {jax.__version__}"
    except NotMeasurable as error:
        reason = str(error)
    except Exception as error:  # of the device, its driver or its libraries
        reason = f"a small product on it fails, with jax {jax.__version__}: {first_line(error)}"
    return {"reasons": dict.fromkeys(precisions, reason), "lasting": not reason}


@functools.cache
def _compiled(function: Callable[..., Any], options: tuple[str, ...]) -> Callable[..., Any]:
    """One program for each set of shapes and options; within a step that is traced, a part of its program."""
    compiled: Callable[..., Any] = jax.jit(function, static_argnames=options)
    return compiled


def _copy(source: Any, *, shape: tuple[int, ...]) -> Any:
    return jnp.copy(jnp.broadcast_to(source, shape))


def _copied(source: Any, shape: tuple[int, ...]) -> Any:
    return _compiled(_copy, ("shape",))(source, shape=shape)


def _product(a: Any, b: Any, *, transpose_a: bool, transpose_b: bool, alpha: float) -> Any:
    product = jnp.matmul(a.mT if transpose_a else a, b.mT if transpose_b else b)
    return product if alpha == 1.0 else alpha * product


def _added_product(a: Any, b: Any, to: Any, *, beta: float, **options: Any) -> Any:
    product = _product(a, b, **options)
    return to + product if beta == 1.0 else beta * to + product
