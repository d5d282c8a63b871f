"""How products in low precision add to parameters: which way is taken, and what is said where none is there."""

from typing import Any

import pytest
import torch

from respeed.backends import make_backend
from respeed.backends._torch_steps import Mixed
from respeed.errors import NotMeasurable


def raising(text: str, kind: type[Exception] = RuntimeError) -> Any:
    def fail(*_: Any) -> None:
        raise kind(text)

    return fail


def make() -> Any:
    return make_backend("torch", device="cpu", precision="bf16", threads=1, seed=1)


def test_want_of_memory_does_not_choose_another_way_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mixed, "_add_by_product", raising("CUDA out of memory", torch.OutOfMemoryError))
    with pytest.raises(torch.OutOfMemoryError):
        make()
    monkeypatch.setattr(Mixed, "_add_by_product", raising("CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"))
    with pytest.raises(RuntimeError, match="ALLOC_FAILED"):
        make()


def test_where_no_way_works_all_reasons_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for way, text in (("_add_by_product", "no addmm"), ("_add_sums", "no mm"), ("_add_rounded", "no bf16")):
        monkeypatch.setattr(Mixed, way, raising(text))
    with pytest.raises(NotMeasurable, match=r"no products in bf16 on cpu: no addmm; no mm; no bf16"):
        make()
