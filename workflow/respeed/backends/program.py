"""Programs of somebody else's: what they are measured beside, the probe and the ceilings, is SciPy's BLAS, or torch."""

from typing import Any

from respeed.backends import Backend as Base
from respeed.backends import make_backend

DEVICES = ("cpu", "cuda")
PRECISIONS = ("fp32", "fp64")


def Backend(*, device: str, **how: Any) -> Base:  # noqa: N802, as every backend's
    """Return the backend whose products stand for the row."""
    return make_backend("numpy" if device == "cpu" else "torch", device=device, **how)
