"""Compiled kernels are kept only as long as all of their sources are the same, and where nobody else can put any."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from respeed import kernels


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sources, and something compiled of one of them; the user's cache is `cache` in it."""
    (tmp_path / "__pycache__").mkdir()
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("x = 1\n")
    kernels.forget_stale(tmp_path)
    (tmp_path / "__pycache__/one.f-1.py311.nbi").write_bytes(b"")
    monkeypatch.setattr(kernels.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize("text", ["x = 1\n", "x = 2\n"])
def test_what_was_compiled_stays_while_all_sources_stay(folder: Path, text: str) -> None:
    (folder / "two.py").write_text(text)
    kernels.forget_stale(folder)
    assert (folder / "__pycache__/one.f-1.py311.nbi").exists() == (text == "x = 1\n")
    assert not kernels.config.CACHE_DIR


def test_a_folder_that_cannot_be_written_to_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("x = 1\n")
    (tmp_path / "__pycache__").write_text("no folder")
    kernels.forget_stale(tmp_path)


def test_where_others_may_change_the_sources_too_nothing_is_gained_elsewhere(folder: Path) -> None:
    for path in (folder, folder / "__pycache__"):
        path.chmod(0o777)
    kernels.forget_stale(folder)
    assert not kernels.config.CACHE_DIR


def unwritable(folder: Path) -> None:
    for path in (folder / "__pycache__").iterdir():
        path.unlink()
    (folder / "__pycache__").rmdir()


def open_cache(mode: int) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        unwritable(folder)
        (folder / "cache/respeed").mkdir(parents=True)
        (folder / "cache/respeed").chmod(mode)

    return make


def no_cache(folder: Path) -> None:
    unwritable(folder)
    (folder / "cache").write_text("no folder")


@pytest.mark.parametrize(
    ("prepare", "with_the_user"),
    [
        (unwritable, True),
        (lambda folder: (folder / "__pycache__").chmod(0o777), True),  # as in a checkout that several users share
        (lambda folder: (folder / "__pycache__/one.f-1.py311.nbi").chmod(0o666), True),
        (open_cache(0o770), False),
        (open_cache(0o707), False),
        (no_cache, False),
    ],
    ids=["cannot be written", "open folder", "open file", "cache open to a group", "cache open to all", "no cache"],
)
def test_they_are_kept_where_nobody_else_can_put_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[Path], None], with_the_user: bool
) -> None:
    prepare(folder)
    if not (folder / "__pycache__").exists():
        monkeypatch.setattr(kernels.os, "access", lambda path, _: Path(path) != folder)
    before = os.umask(0o002)
    kernels.forget_stale(folder)
    os.umask(before)
    kept = Path(kernels.config.CACHE_DIR)
    private = kept.parent if with_the_user else kept
    assert private.stat().st_mode & 0o777 == 0o700
    if with_the_user:
        assert private == folder / "cache/respeed"
    else:
        assert kept.name.startswith("respeed-kernels-")
        kept.rmdir()
