"""What comes between the products and is more than one operation, by torch's own operations."""

from collections.abc import Callable

import torch
from torch import Tensor

# Where intermediate results go: an array like this one, of another type, under another name. It is made once and kept.
Scratch = Callable[..., Tensor]


# The most that trying all lengths of a line search at once may take: of more rows some are tried after others.
TRIED_BYTES = 2**25


class ByTorch:
    """As the contract has them; matrices or stacks of matrices. `facts` is what a record says of it."""

    # What a step may take besides its program's arrays, and arrays like one of them.
    scratch_bytes = TRIED_BYTES

    def __init__(self, scratch: Scratch, why: str = "") -> None:
        """Keep `why`, for the record: the reason why nothing is fused on a device where it could be."""
        self._scratch = scratch
        self._tables: dict[tuple[float, ...], list[Tensor]] = {}
        self.facts = f"torch: {why}" if why else "torch"

    def softmax_error(self, logits: Tensor, labels: Tensor, out: Tensor, costs: Tensor) -> None:
        # In low precision a probability near 1 would lose what it misses 1 by.
        low, places = out.dtype.itemsize < 4, labels[:, None]
        wide = self._scratch(out, torch.float32) if low else out
        torch.log_softmax(self._scratch(out, torch.float32, "logits").copy_(logits) if low else logits, 1, out=wide)
        costs.copy_(torch.gather(wide, 1, places, out=self._scratch(costs, wide.dtype, "costs"))).neg_()
        wide.exp_().scatter_(1, places, -1.0, reduce="add")
        if low:
            out.copy_(wide)

    def sigmoid_error(self, x: Tensor, out: Tensor, costs: Tensor) -> None:
        # softplus(z) - x z, which is as exact where a probability is all but 1.
        given = {"logits": out, "examples": x}
        if out.dtype.itemsize < 4:
            given = {name: self._scratch(out, torch.float32, name).copy_(array) for name, array in given.items()}
        each = self._scratch(given["logits"], name="costs of units")
        torch.ops.aten.softplus.out(given["logits"], 1, 40, out=each).addcmul_(*given.values(), value=-1.0)
        costs.copy_(torch.sum(each, 1, keepdim=True, out=self._scratch(costs, each.dtype, "costs")))
        torch.sub(x, out.sigmoid_(), out=out)

    def coordinate_step(
        self, left: Tensor, coefficients: Tensor, diagonal: Tensor, penalty: float, going: Tensor, out: Tensor
    ) -> None:
        torch.addcmul(left, coefficients, diagonal, out=out)
        torch.ops.aten.softshrink.out(out, penalty, out=out)
        out.div_(diagonal).sub_(coefficients).mul_(going)

    def line_search(
        self,
        direction: Tensor,
        moved: Tensor,
        left: Tensor,
        coefficients: Tensor,
        penalty: float,
        lengths: tuple[float, ...],
        least: float,
        objective: Tensor,
        going: Tensor,
        least_of_norm: float = 0.0,
    ) -> None:
        steps = self._lengths(lengths, direction)
        rows = max(1, TRIED_BYTES // (len(steps[0]) * direction[0].nbytes))
        arrays = direction, moved, left, coefficients, objective, going
        for here in zip(*(array.split(rows) for array in arrays), strict=True):
            self._search(penalty, least, least_of_norm, steps, *here)

    def _search(
        self, penalty: float, least: float, least_of_norm: float, lengths: tuple[Tensor, ...], *arrays: Tensor
    ) -> None:
        direction, moved, left, coefficients, objective, going = arrays
        # All lengths at once. The last one is 0, which changes nothing: that of a row that finds no other.
        steps, worth, rest = lengths
        tried = self._scratch(direction[:, None].expand(-1, len(steps), -1), name="tried")
        torch.mul(left, direction, out=tried[:, 0])
        torch.mul(moved, direction, out=tried[:, 1])
        slope, curve = tried[:, :2].sum(2).split(1, dim=1)
        torch.addcmul(coefficients[:, None], direction[:, None], steps[:, None], out=tried)
        norms = torch.linalg.vector_norm(tried, 1, 2)
        trial = norms.sub(norms[:, -1:]).mul_(penalty)
        trial.addcmul_(curve * steps, steps, value=0.5).addcmul_(slope, steps, value=-1.0)
        bound = -least * objective
        if least_of_norm:
            bound.sub_(norms[:, -1:], alpha=least_of_norm * penalty)
        lowers = (trial < bound) & (going > 0)
        first = torch.where(lowers, worth, rest).argmax(1, keepdim=True)
        taken = steps[first]
        coefficients.addcmul_(direction, taken)
        left.addcmul_(moved, taken, value=-1.0)
        objective.add_(trial.gather(1, first))
        torch.gt(taken, 0, out=going)

    def _lengths(self, lengths: tuple[float, ...], like: Tensor) -> tuple[Tensor, ...]:
        """The lengths and a 0; what each is worth where it will do, the first the most; and where it will not."""
        if lengths not in self._tables:
            count = len(lengths)
            rows = [*lengths, 0.0], range(count + 1, 0, -1), [0.0] * count + [0.5]
            self._tables[lengths] = [torch.tensor(list(row), dtype=like.dtype, device=like.device) for row in rows]
        return tuple(self._tables[lengths])

    def gradient_step(self, bases: Tensor, product: Tensor, target: Tensor, rate: float, out: Tensor) -> None:
        torch.sub(bases, product, alpha=rate, out=out).add_(target, alpha=rate)
        out.div_(torch.linalg.vector_norm(out, dim=1, keepdim=True).clamp_(min=1.0))
