"""Compiled kernels are kept only as long as all of their sources are the same."""

import os
from pathlib import Path

import pytest

from respeed import kernels


def made_kernels(folder: Path) -> list[Path]:
    """Two sources, and something compiled of one of them."""
    (folder / "__pycache__").mkdir()
    sources = [folder / "one.py", folder / "two.py"]
    for source in sources:
        source.write_text("x = 1\n")
    kernels.forget_stale(folder)
    compiled = folder / "__pycache__/one.f-1.py311.nbi"
    compiled.write_bytes(b"")
    return [*sources, compiled]


def test_what_was_compiled_stays_while_the_sources_stay(tmp_path: Path) -> None:
    *_, compiled = made_kernels(tmp_path)
    kernels.forget_stale(tmp_path)
    assert compiled.exists()


def test_a_change_in_another_file_throws_it_away(tmp_path: Path) -> None:
    _, other, compiled = made_kernels(tmp_path)
    other.write_text("x = 2\n")
    kernels.forget_stale(tmp_path)
    assert not compiled.exists()


def test_a_folder_that_cannot_be_written_to_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("x = 1\n")
    (tmp_path / "__pycache__").write_text("no folder")
    kernels.forget_stale(tmp_path)


def test_where_nothing_can_be_written_kernels_are_kept_with_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.py").write_text("x = 1\n")
    monkeypatch.setattr(kernels.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kernels.os, "access", lambda path, _: Path(path) != tmp_path)
    before = os.umask(0o002)
    kernels.forget_stale(tmp_path)
    os.umask(before)
    kept = Path(kernels.config.CACHE_DIR).parent
    assert kept == tmp_path / "cache/respeed"
    assert kept.stat().st_mode & 0o777 == 0o700


def test_what_others_may_write_to_beside_the_sources_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a checkout that several users share."""
    *_, compiled = made_kernels(tmp_path)
    for path, mode in ((compiled.parent, 0o777), (compiled, 0o666)):
        monkeypatch.setattr(kernels.config, "CACHE_DIR", "")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        path.chmod(mode)
        kernels.forget_stale(tmp_path)
        assert Path(kernels.config.CACHE_DIR).parent == tmp_path / "cache/respeed"
        path.chmod(0o755)
    monkeypatch.setattr(kernels.config, "CACHE_DIR", "")
    # Where they may change the sources too, nothing is gained.
    tmp_path.chmod(0o777)
    compiled.parent.chmod(0o777)
    kernels.forget_stale(tmp_path)
    assert not kernels.config.CACHE_DIR


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_they_are_not_kept_where_others_could_put_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    (tmp_path / "one.py").write_text("x = 1\n")
    (tmp_path / "cache/respeed").mkdir(parents=True)
    (tmp_path / "cache/respeed").chmod(mode)
    monkeypatch.setattr(kernels.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kernels.os, "access", lambda path, _: Path(path) != tmp_path)
    kernels.forget_stale(tmp_path)
    made = Path(kernels.config.CACHE_DIR)
    assert made.name.startswith("respeed-kernels-")
    made.rmdir()


def test_without_a_folder_of_the_user_they_are_kept_where_nobody_can_put_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.py").write_text("x = 1\n")
    (tmp_path / "cache").write_text("no folder")
    monkeypatch.setattr(kernels.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kernels.os, "access", lambda path, _: False)
    kernels.forget_stale(tmp_path)
    made = Path(kernels.config.CACHE_DIR)
    assert made.name.startswith("respeed-kernels-")
    assert made.stat().st_mode & 0o777 == 0o700
