"""What comes between products by torch's own operations."""

from typing import Any

import pytest
import torch

from respeed.backends import _torch_between
from respeed.backends._torch_between import ByTorch

LENGTHS = (3.0, 1.0, 0.1)


class Scratch:
    """Makes what it is asked for, and remembers the most bytes."""

    most = 0

    def __call__(self, like: torch.Tensor, dtype: torch.dtype | None = None, name: str = "") -> torch.Tensor:
        made = torch.empty(like.shape, dtype=dtype or like.dtype)
        self.most = max(self.most, made.nbytes)
        return made


def searched(scratch: Any) -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(1)
    arrays = [0.1 * torch.randn(25, 40, generator=random) for _ in range(4)]
    objective, going = 1 + torch.rand(25, 1, generator=random), (torch.rand(25, 1, generator=random) < 0.8).float()
    ByTorch(scratch).line_search(*arrays, 0.03, LENGTHS, 1e-3, objective, going)
    return [*arrays, objective, going]


def test_a_line_search_of_many_rows_takes_no_more_memory_than_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, pieces = Scratch(), Scratch()
    wanted = searched(whole)
    allowed = whole.most // 4
    monkeypatch.setattr(_torch_between, "TRIED_BYTES", allowed)
    found = searched(pieces)
    assert 0 < pieces.most <= allowed < whole.most
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)
    assert 0 < int(found[-1].sum()) < 25
