"""JAX: one program for CPUs, GPUs and TPUs, which XLA compiles for each of them.

It is loaded by nothing but its own rows.
"""

import importlib.util
import os
from typing import Any

from respeed.backends import Required
from respeed.backends._jax_pool import set_pool
from respeed.errors import NotMeasurable

DEVICES = ("cpu", "cuda", "tpu")
PRECISIONS = ("fp64", "fp32")
OFFERS = (
    "stack_bytes", "lanes", "each", "stream", "add", "sigmoid", "dense_layer", "activation_backward", "labels",
    "softmax_error", "draws", "sample_layer", "mask", "cut", "add_up", "sum", "factors", "inverse", "shares_cores",
    "sigmoid_error",
)  # fmt: skip
# The Python package that it needs.
PACKAGE = "jax"

# Operations in one order. Or else XLA hands what could be done at once to its pool, though this is of one thread: that
# one and the one that asks would take turns on one CPU, as at large sizes they still do. Read once in a process; as a
# compiler's option it does less.
ONE_BY_ONE = "--xla_cpu_enable_concurrency_optimized_scheduler=false"


def probe(device: str) -> dict[str, Any]:
    """What `respeed.backends.probe` prints."""
    _prepare(1, device)

    from respeed.backends._jax import probe_device

    return probe_device(device, PRECISIONS)


def Backend(*, device: str, precision: str, threads: int, seed: int) -> Required:  # noqa: N802, as the contract has it
    """JAX on the device; NotMeasurable with the reason if it is not installed, or has no such device."""
    if importlib.util.find_spec(PACKAGE) is None:
        raise NotMeasurable(f"needs the Python package {PACKAGE}, which is not installed")
    _prepare(threads, device)

    from respeed.backends._jax_steps import JaxSteps

    return JaxSteps(device, precision, threads, seed)


def _prepare(threads: int, device: str) -> None:
    """Before JAX is loaded."""
    set_pool(threads)
    if device == "cpu" and threads == 1:
        os.environ.setdefault("XLA_FLAGS", ONE_BY_ONE)
    # Or else XLA would take three quarters of a GPU's memory at once, whatever the programs need.
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
