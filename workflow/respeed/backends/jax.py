"""JAX: one program for CPUs, GPUs and TPUs, which XLA compiles for each of them. Nothing but its own rows loads it."""

import importlib.util
import os

from respeed.backends import Backend as Base
from respeed.errors import NotMeasurable

DEVICES = ("cpu", "cuda", "tpu")
PRECISIONS = ("fp64", "fp32")
# The Python package that it needs.
PACKAGE = "jax"

# XLA looks for these, the first of them first, when its pool of threads is made, once in a process; or else it takes as
# many threads as the process has CPUs. (Its own flags and OMP_NUM_THREADS say nothing of it.)
POOL = ("PJRT_NPROC", "NPROC")
# Operations in one order. Or else XLA hands what could be done at once to its pool, though this is of one thread: that
# one and the one that asks would take turns on one CPU, as at large sizes they still do. Read once in a process; as a
# compiler's option it does less.
ONE_BY_ONE = "--xla_cpu_enable_concurrency_optimized_scheduler=false"


def prepare(threads: int, device: str) -> None:
    """Set the environment before JAX is loaded. What it says of the pool already stays: that is what counts."""
    for name in POOL:
        os.environ.setdefault(name, str(threads))
    if device == "cpu" and threads == 1:
        os.environ.setdefault("XLA_FLAGS", ONE_BY_ONE)
    # Or else XLA would take three quarters of a GPU's memory at once, whatever the programs need.
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"


def Backend(*, device: str, precision: str, threads: int, seed: int) -> Base:  # noqa: N802, as every backend's
    """Return JAX on the device; NotMeasurable with the reason if it is not installed, or has no such device."""
    if importlib.util.find_spec(PACKAGE) is None:
        raise NotMeasurable(f"needs the Python package {PACKAGE}, which is not installed")
    prepare(threads, device)

    from respeed.backends._jax import Jax

    return Jax(device, precision, threads, seed)
