"""Compiled code is loaded from where no other user could have put it."""

import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from respeed import kernels
from respeed.backends import _torch_fused
from respeed.machine.process import private_folder, why_not_private

SOMEBODY = 65534
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes files of another user, which only root may")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """As /tmp, with a home beside it."""
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    return shared


def of_somebody(path: Path) -> None:
    path.mkdir()
    os.chown(path, SOMEBODY, SOMEBODY)


def a_link(path: Path) -> None:
    path.with_name("his").mkdir()
    path.symlink_to(path.with_name("his"))


def open_to_all(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


def with_a_file(path: Path, change: Callable[[Path], None]) -> None:
    (path / "deep").mkdir(parents=True)
    (path / "deep/kept.so").touch()
    change(path / "deep/kept.so")


def to_a_link(file: Path) -> None:
    file.unlink()
    file.symlink_to("/tmp/his.so")


PLANTED = [
    pytest.param(of_somebody, "kept belongs to ", marks=only_root),
    pytest.param(a_link, "kept is a link"),
    pytest.param(open_to_all, "others may write to "),
    pytest.param(
        partial(with_a_file, change=lambda file: os.chown(file, SOMEBODY, SOMEBODY)), "so belongs to ", marks=only_root
    ),
    pytest.param(partial(with_a_file, change=to_a_link), "kept.so is a link"),
    pytest.param(partial(with_a_file, change=lambda file: file.chmod(0o666)), "others may write to "),
]


@pytest.mark.parametrize(("plant", "why"), PLANTED, ids=range(6))
def test_what_another_user_could_have_planted_is_left_for_a_folder_in_the_users_own_cache(
    folder: Path, monkeypatch: pytest.MonkeyPatch, plant: Callable[[Path], None], why: str
) -> None:
    wished, home = folder / "kept", folder.parent / "home/respeed"
    plant(wished)
    assert why in why_not_private(wished)
    assert private_folder("code", wished) == home / "code"
    assert home.stat().st_mode & 0o777 == 0o700
    # Where that is not private either, none but a new one will do.
    home.chmod(0o777)
    found = private_folder("code", wished)
    assert found.name.startswith("respeed-code-")
    assert (found.stat().st_mode & 0o777, list(found.iterdir())) == (0o700, [])


def test_a_closed_folder_is_used_as_wished_whatever_the_mode_of_what_lies_in_it(folder: Path) -> None:
    """As with a umask of 002, under which libraries make files that a group may write to."""
    made = private_folder("code", folder / "kept")
    assert made == folder / "kept"
    (made / "kept.so").touch()
    (made / "kept.so").chmod(0o664)
    assert private_folder("code", folder / "kept") == made


@only_root
def test_what_numba_and_triton_keep_is_looked_at_before_it_is_loaded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = folder.parent / "sources"
    sources.mkdir()
    monkeypatch.setattr(kernels.config, "CACHE_DIR", str(folder))
    kernels.forget_stale(sources)
    kept = Path(kernels.config.CACHE_DIR)
    kept.rmdir()
    of_somebody(kept)
    monkeypatch.setattr(kernels.config, "CACHE_DIR", str(folder))
    kernels.forget_stale(sources)
    assert Path(kernels.config.CACHE_DIR) == folder.parent / "home/respeed" / kept.name

    of_somebody(folder / "triton")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(folder / "triton"))
    _torch_fused._keep_to_ourselves.__wrapped__()
    assert os.environ["TRITON_CACHE_DIR"] == str(folder.parent / "home/respeed/triton")
