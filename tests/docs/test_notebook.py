"""docs/respeed.ipynb: a notebook as the format asks for, whose cells do what they say."""

import json
import os
import re
import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

NOTEBOOK = ROOT / "docs/respeed.ipynb"
# What a notebook's kernel does with cells, and shows; in a process of its own, whose Python is that of the kernel.
KERNEL = """
import json, sys
cells, settings, space = json.load(open(sys.argv[1]))["cells"], json.loads(sys.argv[2]), {}
for cell in cells:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]), space)
        space |= settings
"""
DISPLAY = """
def Image(filename):
    return f"an image of {len(open(filename, 'rb').read())} bytes: {filename}"
def FileLink(path):
    return f"a link to {len(open(path, 'rb').read())} bytes: {path}"
def display(what):
    print("shown:", what)
"""


def test_the_notebook_is_of_format_4_5_without_anything_that_a_run_left() -> None:
    notebook: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len({*ids}) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in ids)
    for cell in notebook["cells"]:
        own = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        assert cell.keys() == {"cell_type", "id", "metadata", "source"} | own
        assert not own or (cell["outputs"], cell["execution_count"]) == ([], None)


@pytest.mark.slow
def test_every_cell_runs_from_the_clone_to_page_1_and_the_bundle(tmp_path: Path) -> None:
    source = tmp_path / "source"
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(lambda name: (ROOT / name).exists(), listed.stdout.splitlines()):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    # Of everything, one row of one table: that all are measured is tested elsewhere.
    config = source / "config.yaml"
    config.write_text(config.read_text().replace("profiles: all", "profiles: [openblas-1]"))
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=source, check=True)
    (tmp_path / "kernel/IPython").mkdir(parents=True)
    (tmp_path / "kernel/IPython/__init__.py").touch()
    (tmp_path / "kernel/IPython/display.py").write_text(DISPLAY)

    # A Python that has all that the project needs, and not the project.
    venv.create(tmp_path / "own", with_pip=True)
    (site,) = (tmp_path / "own").glob("lib/python3*/site-packages")
    (site / "all.pth").write_text(sysconfig.get_path("purelib"))
    settings = json.dumps({"REPOSITORY": str(source), "PRESET": "smoke"})
    added = {"PYTHONPATH": str(tmp_path / "kernel"), "CUDA_VISIBLE_DEVICES": ""}
    added |= {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}  # 0 is pip's word for none
    command = [tmp_path / "own/bin/python", "-c", KERNEL, str(NOTEBOOK), settings]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | added, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    shown = re.findall(r"^shown: (.*) [0-9]{5,} bytes: respeed/(.*)$", done.stdout, re.MULTILINE)
    files = ["report/page-1.png", "records.zip", "report/smoke.pdf"]
    assert shown == list(zip(["an image of", "a link to", "a link to"], files, strict=True))
