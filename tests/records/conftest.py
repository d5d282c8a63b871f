"""Every test of records works in a folder of its own, as if nothing had been said before."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from respeed.records.store import _leave_out
from tests.records.carried import good_files


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _leave_out.cache_clear()


@pytest.fixture
def good(make_record: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """The files of a bundle that nothing is wrong with."""
    return good_files(make_record)
