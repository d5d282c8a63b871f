"""JAX: one program for CPUs, GPUs and TPUs, which XLA compiles for each of them. Only JAX's own rows import it.

A step is a pure function, compiled when a program is built. Its results take the place of the arrays that it changes,
which are donated. When XLA is loaded, it reads from the environment how many threads to use, and whether to take most
of a GPU's memory at once (`respeed.machine.process`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np

from respeed.backends import Backend as Base
from respeed.backends import Program
from respeed.errors import NotMeasurable
from respeed.machine.devices import NAMES, split_device, too_high
from respeed.text import first_line
from respeed.workloads import Arrays, Step, Workload
from respeed.workloads.arrays import Zeros

DEVICES = ("cpu", "cuda", "tpu")
PRECISIONS = ("fp64", "fp32", "tf32x3", "bf16x9")

# XLA's names for products in fp32 that are sums of three products in TF32, or nine in bf16, of the operands' parts.
IN_PARTS = {"tf32x3": "TF32_TF32_F32_X3", "bf16x9": "BF16_BF16_F32_X9"}


class Backend(Base):
    """JAX on a device. The constructor raises NotMeasurable with the reason if JAX has no such device."""

    framework = "jax"
    # The library has a thread more than the row: the calling one works beside those of XLA's pool.
    pools = 3

    def __init__(self, *, device: str, precision: str, threads: int, seed: int) -> None:
        super().__init__(precision, threads)
        kind, index = split_device(device)
        # Otherwise XLA would run each program on a thread of its own: one thread would be two.
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        if precision in IN_PARTS and kind != "cuda":
            raise NotMeasurable(f"{precision} is a precision of GPUs")
        # True fp32: no TF32 on NVIDIA's GPUs, no bf16 on TPUs, which use several bf16 products for one in fp32.
        jax.config.update("jax_default_matmul_precision", IN_PARTS.get(precision, "highest"))
        # A setting of the whole process: the row that was made last decides.
        jax.config.update("jax_enable_x64", precision == "fp64")
        self.device = find_device(kind, index)
        self.synchronous = self.shares_cores = kind == "cpu"
        self.key = jax.device_put(jax.random.PRNGKey(seed), self.device)
        self.asked: Any = ()

    def array(self, values: Any, *, exact: bool = False) -> Any:
        """Copy `values` to the device in the row's precision; integers become int32."""
        on_host = np.asarray(values)
        on_host = on_host.astype(np.int32 if on_host.dtype.kind in "iu" else self.host_dtype, copy=False)
        # A copy, since on the CPU JAX may use NumPy's memory as it is, to which nothing may be written.
        return jnp.copy(jax.device_put(on_host, self.device))

    def host(self, array: Any) -> Any:
        """Return a JAX array as NumPy's, and anything else unchanged."""
        return np.asarray(array) if isinstance(array, jax.Array) else array

    def build(self, workload: Workload, seed: int) -> "JaxProgram":
        """Return the workload as a compiled program on this row."""
        return JaxProgram(self, workload, seed)

    def bytes_free(self) -> float | None:
        """Return the bytes of the device's own memory that are free for arrays; None if JAX does not report them."""
        memory = self.device.memory_stats() or {}  # a CPU reports none
        return float(memory["bytes_limit"] - memory["bytes_in_use"]) if "bytes_limit" in memory else None

    def sync(self) -> None:
        """Return when all operations on the device are done."""
        # A device works in order: when the last operation is done, all are.
        jax.block_until_ready(self.asked)

    def describe(self) -> dict[str, Any]:
        """Return the facts about JAX for a record."""
        return {
            "package": f"jax {jax.__version__}",
            "library": f"XLA (jaxlib {jaxlib.__version__})",
            "threads_set": self.threads,
            **({} if self.synchronous else {"accelerator": str(self.device.device_kind)}),
        }


class JaxProgram(Program):
    """A program whose step takes arrays and returns the changed ones, in the (donated) memory of the old ones."""

    backend: Backend

    def _make_views(self) -> list[Arrays]:
        arrays = vars(self.arrays)
        for name in self.workload.cycled:  # a list of its items: each is an argument by itself
            arrays[name] = [jnp.copy(item) for item in arrays[name]]
        self.backend.key, arrays["key"] = jax.random.split(self.backend.key)
        rooms = {name for name, values in self.inputs.items() if isinstance(values, Zeros)}
        self._changes = {"key", *rooms, *self._kept}.intersection(arrays)
        # For the device that the arguments lie on, which need not be JAX's first.
        step = jax.jit(self._function, donate_argnums=0, keep_unused=True)
        self._compiled = step.lower(*self._arguments()).compile()
        return [self.arrays] * self._items

    def _make_steps(self, view: Arrays) -> dict[str, Step]:
        return {"step": self._run}

    def _arguments(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the arrays that a step changes, and those that it only reads: of `cycled` arrays, this step's item."""
        reads = vars(self.arrays).copy()
        for name in self.workload.cycled:
            reads[name] = reads[name][self.count % self._items]
        changes = {name: reads.pop(name) for name in self._changes}
        return changes, reads

    def _function(self, changes: Mapping[str, Any], reads: Mapping[str, Any]) -> dict[str, Any]:
        key = changes["key"]
        dtype = self.backend.host_dtype
        workload = cast(Any, self.workload)

        def uniform(shape: Sequence[int]) -> Any:
            """Draw from [0, 1) with 24 bits, as many as fp32's significand has; jax.random.uniform draws 23."""
            nonlocal key
            key, used = jax.random.split(key)
            return (jax.random.bits(used, shape, np.uint32) >> 8).astype(dtype) * dtype.type(2.0**-24)

        changed = workload.jax(Arrays(**changes, **reads), uniform)
        return {**changes, **changed, "key": key}

    def _run(self) -> None:
        self.backend.asked = changed = self._compiled(*self._arguments())
        vars(self.arrays).update(changed)

    def _write(self, name: str, values: Any) -> None:
        """Replace the array `name` by a new one with `values`, because JAX's arrays cannot be written to."""
        arrays = vars(self.arrays)
        make = self.backend.array
        if name in self.workload.cycled:
            arrays[name] = [make(item) for item in values]
        else:
            arrays[name] = make(np.broadcast_to(values, arrays[name].shape))


def find_device(kind: str, index: int | None) -> Any:
    """Return the device; raise NotMeasurable with the reason if JAX has no such device."""
    try:
        # NVIDIA's and AMD's are both gpu to JAX, as both are cuda to torch.
        devices = jax.devices("gpu" if kind == "cuda" else kind)
    except RuntimeError as error:
        none = f"no {NAMES[kind]} device that jax {jax.__version__} can use"
        raise NotMeasurable(f"{none}: {first_line(error)}") from error
    if reason := too_high(kind, index or 0, len(devices)):
        raise NotMeasurable(reason)
    return devices[index or 0]
