"""The inverse of a matrix by torch, LAPACK on the CPU and cuSOLVER on CUDA: torch.linalg.inv without its new arrays."""

import torch


class LuFactors:
    """A = P L U of a matrix (n, n), in place, and the identity that they are solved for.

    LAPACK is column-major. Of a row-major array that is the transpose, whose inverse is the transpose of the inverse:
    nothing has to be turned round.
    """

    def __init__(self, n: int, dtype: torch.dtype, device: torch.device) -> None:
        self._lu = torch.zeros(n, n, dtype=dtype, device=device).mT
        self._pivots = torch.zeros(n, dtype=torch.int32, device=device)
        self._info = torch.zeros((), dtype=torch.int32, device=device)
        self._identity = torch.eye(n, dtype=dtype, device=device).mT

    def invert(self, a: torch.Tensor, out: torch.Tensor) -> None:
        # The variant that does not look whether A is singular: on a GPU that would wait for the answer.
        torch.linalg.lu_factor_ex(a.mT, out=(self._lu, self._pivots, self._info))
        torch.linalg.lu_solve(self._lu, self._pivots, self._identity, out=out.mT)
