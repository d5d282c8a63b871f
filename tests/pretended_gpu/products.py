"""Products as the library was asked for them."""

from typing import Any

import torch

PRODUCTS = {"addmm", "baddbmm", "bmm", "mm"}


def multiply(name: str, args: Any, kwargs: Any, sums: str) -> torch.Tensor:
    """The product, not yet rounded to what it is written as. Operands are rounded first where sums are in TF32."""
    addend, (left, right) = (args[0], args[1:3]) if name in {"addmm", "baddbmm"} else (None, args[:2])
    if sums == "tf32":
        left, right = _to_tf32(left), _to_tf32(right)
    if left.dtype.itemsize < 4:
        left, right = left.float(), right.float()
    product = torch.matmul(left, right)
    beta, alpha = kwargs.get("beta", 1), kwargs.get("alpha", 1)
    if alpha != 1:
        product = product * alpha
    if addend is not None and beta != 0:
        product = product + beta * addend.to(product.dtype)
    return product


def _to_tf32(array: torch.Tensor) -> torch.Tensor:
    """The nearest numbers of 10 bits behind the point."""
    bits = array.contiguous().view(torch.int32)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32)
