"""A whole run where much is missing or odd at once: no network, no fonts, no language, a name with all marks."""

import os
import sys
from pathlib import Path

import pytest
from pypdf import PdfReader

from tests.conftest import Project
from tests.systems import without_network

NAME = "é漢 'a' \"b\" $HOME {x} %d #1 & ; * ` folder"
# Folders of fonts are hidden, where there are any.
FONTS = [folder for folder in ("/usr/share/fonts", "/usr/local/share/fonts") if os.path.isdir(folder)]


@pytest.mark.slow
def test_a_run_works_without_network_fonts_and_language_in_a_folder_with_any_name(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    folder.mkdir()
    project = Project(folder)
    kept = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(folder / "workflow"),
        "CUDA_VISIBLE_DEVICES": "",
        "LC_ALL": "POSIX",
        "FONTCONFIG_FILE": "/dev/null",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    script = "".join(f"mount -t tmpfs none {folder} && " for folder in FONTS) + 'exec env -i "$@"'
    done = project.run(
        *without_network("--mount"), "sh", "-c", script, "sh", *(f"{key}={value}" for key, value in kept.items()),
        "snakemake", "--config", "preset=smoke", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "Error" not in done.stdout
    pages = [page.extract_text() for page in PdfReader(folder / "report/smoke.pdf").pages]
    assert all("No measurement" in page for page in pages)
    assert "raina2009" in (folder / "report/smoke.html").read_text(encoding="utf-8")
    assert list(folder.glob("results/smoke/figures/raina2009/rbm/*-speedup.png"))
    assert len(project.records()) == 5 * 4 - 1
