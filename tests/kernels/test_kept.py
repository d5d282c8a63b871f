"""Compiled kernels are kept only as long as all of their sources are the same."""

from pathlib import Path

import pytest

from respeed import kernels

KEPT = "__pycache__/one.f-1.py311.nbi"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sources, and something compiled of one of them; the user's private folder is `cache` in it."""
    (tmp_path / "__pycache__").mkdir()
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.setattr(kernels.config, "CACHE_DIR", "")
    monkeypatch.setattr(kernels, "private_folder", lambda name: tmp_path / "cache" / name)
    kernels.forget_stale(tmp_path)
    (tmp_path / KEPT).write_bytes(b"")
    return tmp_path


@pytest.mark.parametrize("text", ["x = 1\n", "x = 2\n"])
def test_what_was_compiled_stays_while_all_sources_stay(folder: Path, text: str) -> None:
    (folder / "two.py").write_text(text)
    kernels.forget_stale(folder)
    assert (folder / KEPT).exists() == (text == "x = 1\n")
    assert not kernels.config.CACHE_DIR


def test_a_folder_that_cannot_be_written_to_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels.config, "CACHE_DIR", "")
    (tmp_path / "one.py").write_text("x = 1\n")
    (tmp_path / "__pycache__").write_text("no folder")
    kernels.forget_stale(tmp_path)


@pytest.mark.parametrize("wished", ["", "mine"])
def test_elsewhere_they_are_kept_under_a_name_that_follows_from_their_sources(
    folder: Path, wished: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels.os, "access", lambda *_: False)
    found = []
    for text in ("x = 2\n", "x = 3\n"):
        (folder / "two.py").write_text(text)
        monkeypatch.setattr(kernels.config, "CACHE_DIR", wished)
        kernels.forget_stale(folder)
        found.append(Path(kernels.config.CACHE_DIR))
    assert {path.parent for path in found} == {Path(wished) if wished else folder / "cache"}
    assert len(set(found)) == 2
