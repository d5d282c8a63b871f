"""Programs by others. Their row's probe and ceilings are measured with SciPy's BLAS on CPUs, and torch on GPUs."""

from typing import Any

from respeed.backends import Backend as Base
from respeed.backends import make_backend

DEVICES = ("cpu", "cuda")
PRECISIONS = ("fp32", "fp64")


def Backend(*, device: str, **how: Any) -> Base:  # noqa: N802, as every backend's
    """Return the backend that measures the row's probe and ceilings: `numpy` on CPUs, `torch` on GPUs."""
    return make_backend("numpy" if device == "cpu" else "torch", device=device, **how)
