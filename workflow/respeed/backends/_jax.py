"""JAX's arrays, and steps that are pure functions: compiled when a program is built, what they change donated."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np

from respeed.backends import Backend, Program, Step
from respeed.errors import NotMeasurable
from respeed.machine.devices import NAMES, split_device, too_high
from respeed.machine.process import read_word
from respeed.text import first_line
from respeed.workloads import Arrays, Workload
from respeed.workloads.arrays import Zeros

# What the kernel calls the threads of XLA's pool; and what says how many there are to be.
_THREAD, _SIZE = "tf_XLAEigen", "PJRT_NPROC"
# JAX's names of the kinds of devices. It calls NVIDIA's and AMD's both gpu, as torch calls both cuda.
PLATFORMS = {"cpu": "cpu", "cuda": "gpu", "tpu": "tpu"}


class Jax(Backend):
    """JAX on a device."""

    framework = "jax"
    # Its library has a thread more than the row: the one that asks works beside those of XLA's pool.
    pools = 3

    def __init__(self, device: str, precision: str, threads: int, seed: int) -> None:
        super().__init__(precision, threads)
        kind, index = split_device(device)
        # Or else XLA would hand each program to a thread of its own: one thread would be two.
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        # fp32 is fp32: no TF32 on NVIDIA's, no bf16 on TPUs, which take several of these products for one.
        jax.config.update("jax_default_matmul_precision", "highest")
        # Of the whole process: that of the row that was made last.
        jax.config.update("jax_enable_x64", precision == "fp64")
        self.device, self._name = find_device(kind, index), device
        self.synchronous = self.shares_cores = kind == "cpu"
        self.key = jax.device_put(jax.random.key(seed), self.device)
        self.asked: Any = ()

    def array(self, values: Any, *, exact: bool = False) -> Any:
        there = np.asarray(values)
        there = there.astype(np.int32 if there.dtype.kind in "iu" else self.host_dtype, copy=False)
        # Of the device's own memory: on the CPU JAX may take NumPy's as it is, where nothing may be written.
        return jnp.copy(jax.device_put(there, self.device))

    def host(self, array: Any) -> Any:
        return np.asarray(array) if isinstance(array, jax.Array) else array

    def build(self, workload: Workload, seed: int) -> "JaxProgram":
        return JaxProgram(self, workload, seed)

    def bytes_free(self) -> float | None:
        if self.device.platform == "cpu":
            return None
        memory = self.device.memory_stats() or {}
        return float(memory["bytes_limit"] - memory["bytes_in_use"]) if "bytes_limit" in memory else None

    def sync(self) -> None:
        # A device does what it is asked for in turn: when the last is done, all is.
        jax.block_until_ready(self.asked)

    def describe(self) -> dict[str, Any]:
        here = self.device
        return {
            "package": f"jax {jax.__version__}",
            "library": f"XLA (jaxlib {jaxlib.__version__})",
            "device": self._name,
            "precision": self.precision,
            "threads_set": pool_size(),
            "platform": f"{here.platform} {here.client.platform_version}".replace("\n", " "),
            **({} if here.platform == "cpu" else {"accelerator": str(here.device_kind)}),
        }


class JaxProgram(Program):
    """A step takes arrays and returns those that it changed. What it changes is donated: results take its place."""

    backend: Jax

    def _make_views(self) -> list[Arrays]:
        if self.workload.streamed:
            raise NotMeasurable("JAX's arrays are not written to: examples are not streamed to them")
        arrays = vars(self.arrays)
        # A list of its items: each is an argument by itself.
        arrays |= {name: [jnp.copy(item) for item in arrays[name]] for name in self.workload.cycled}
        rooms = {name for name, values in self.inputs.items() if isinstance(values, Zeros)}
        self._changes = (rooms | {*self.workload.learned, *self.workload.state}) & {*arrays}
        # For the device that the arguments lie on, which need not be JAX's first.
        lowered = jax.jit(self._function, donate_argnums=0, keep_unused=True).lower(*self._arguments())
        self._compiled = lowered.compile()
        return [self.arrays] * self._items

    def _make_steps(self, view: Arrays) -> dict[str, Step]:
        return {"step": self._run}

    def _arguments(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what a step changes, and what it only reads: of what is cycled, the items of this one."""
        item, changes, reads = self.count % self._items, {"key": self.backend.key}, {}
        for name, array in vars(self.arrays).items():
            if name in self._changes:
                changes[name] = array
            else:
                reads[name] = array[item] if name in self.workload.cycled else array
        return changes, reads

    def _function(self, changes: Mapping[str, Any], reads: Mapping[str, Any]) -> dict[str, Any]:
        draws = _Draws(changes["key"], self.backend.host_dtype)
        arrays = {name: array for name, array in changes.items() if name != "key"}
        step: Any = self.workload
        changed: dict[str, Any] = step.jax(Arrays(**arrays, **reads), draws)
        return arrays | changed | {"key": draws.key}

    def _run(self) -> None:
        found = self._compiled(*self._arguments())
        self.backend.key = found.pop("key")
        self.backend.asked = found
        vars(self.arrays).update(found)

    def _write(self, name: str, values: Any, item: int | None = None) -> None:
        """Take another array in the place of one that cannot be written to."""
        arrays = vars(self.arrays)
        if item is None:
            arrays[name] = self.backend.array(np.broadcast_to(values, arrays[name].shape))
        else:
            arrays[name][item] = self.backend.array(values)


class _Draws:
    """Draws of 24 bits, as many as fp32 has; those of jax.random.uniform are of 23."""

    def __init__(self, key: Any, dtype: Any) -> None:
        self.key, self._dtype = key, dtype

    def __call__(self, shape: Sequence[int]) -> Any:
        self.key, used = jax.random.split(self.key)
        return (jax.random.bits(used, shape, np.uint32) >> 8).astype(self._dtype) * self._dtype.type(2.0**-24)


def pool_size(tasks: Path = Path("/proc/self/task")) -> int:
    """Return the pool's threads, counted; what they were asked to be where the system does not show them."""
    return sum(read_word(task / "comm").startswith(_THREAD) for task in tasks.glob("*")) or int(os.environ[_SIZE])


def find_device(kind: str, index: int | None) -> Any:
    """Return the device; NotMeasurable with the reason if JAX has none such."""
    try:
        devices = jax.devices(PLATFORMS[kind])
    except RuntimeError as error:
        none = f"no {NAMES[kind]} device that jax {jax.__version__} can use"
        raise NotMeasurable(f"{none}: {first_line(error)}") from error
    if reason := too_high(kind, index or 0, len(devices)):
        raise NotMeasurable(reason)
    return devices[index or 0]
