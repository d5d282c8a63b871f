"""The numbers of the project's own operators, `torch.ops.respeed`: what they fuse, by torch's operations."""

from typing import Any

import torch

from respeed.backends._torch_between import ByTorch


def _scratch(like: torch.Tensor, dtype: torch.dtype | None = None, name: str = "") -> torch.Tensor:
    return torch.empty(like.shape, dtype=dtype or like.dtype)


_BY_TORCH = ByTorch(_scratch)


def plain(name: str, arguments: tuple[Any, ...]) -> None:
    """The operator of that name, in place, on arrays of the host."""
    if name == "line_search":  # whose lengths lie on the device, padded by 0
        arguments = tuple(
            tuple(value[value > 0].tolist()) if place == 5 else value for place, value in enumerate(arguments)
        )
    getattr(_BY_TORCH, name)(*arguments)
