"""Compiled kernels are kept under a name that follows from all of their sources."""

from pathlib import Path

import pytest

from respeed import kernels


def test_another_source_is_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "__file__", str(tmp_path / "__init__.py"))
    monkeypatch.setattr(kernels.config, "CACHE_DIR", str(tmp_path / "cache"))
    found = []
    for text in ("x = 1\n", "x = 2\n", "x = 1\n"):
        (tmp_path / "one.py").write_text(text)
        found.append(Path(kernels._folder_of_sources()))
    assert found[0] == found[2] != found[1]
    assert {path.parent for path in found} == {tmp_path / "cache"}
