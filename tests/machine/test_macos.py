"""On macOS nothing binds a process, and there is neither /proc nor /sys: what is left of this system still measures."""

import json
from pathlib import Path

from tests.conftest import Project

# Read by every process as it starts. What is built for Linux alone is loaded before the system is another one, and
# still finds what it reads; the project's own code, which may call it, does not.
MAC = """
import io, os, platform, sys
import numba, numpy, psutil, scipy.linalg
if "respeed.measure.turn" in sys.orig_argv:
    import torch

def hidden(function):
    def instead(path, *rest, **named):
        if isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith(("/proc", "/sys/")):
            frame = sys._getframe(1)
            while frame and not frame.f_globals.get("__name__", "").startswith(("respeed", "psutil")):
                frame = frame.f_back
            if frame and frame.f_globals["__name__"].startswith("respeed"):
                raise FileNotFoundError(2, "No such file or directory", os.fspath(path))
        return function(path, *rest, **named)
    return instead

io.open, os.scandir, os.listdir, os.stat = map(hidden, (io.open, os.scandir, os.listdir, os.stat))
del os.sched_getaffinity, os.sched_setaffinity
platform.system, sys.platform = lambda: "Darwin", "darwin"
"""


def test_a_mac_measures_its_cpu_rows(project: Project, tmp_path: Path) -> None:
    """Rows of the CPU are measured on a Mac which says what nobody knows there and of others what is missing."""
    (project.folder / "workflow/sitecustomize.py").write_text(MAC)
    text = (project.folder / "workflow/hardware/gpu.yaml").read_text("utf-8").replace("device: cuda", "device: mps")
    (project.folder / "workflow/hardware/apple.yaml").write_text(text, "utf-8")
    (project.folder / "workflow/hardware/tpu.yaml").unlink()  # to ask JAX for one takes seconds
    settings = ("preset=smoke", "papers=raina2009", "--only", "/rbm/", "--profiles", "torch-all", "apple")
    lock = {"XDG_CACHE_HOME": str(tmp_path)}  # other tests measure meanwhile
    said = project.run("respeed", "measure", "--config", *settings, check=False, **lock).stdout
    assert "apple: not measured: no MPS device" in said
    (path,) = (project.folder / "results/smoke/records").glob("*/torch-all/*.jsonl")
    start, result, *_ = map(json.loads, path.read_text().splitlines())
    assert start["machine"]["system"].startswith("Darwin")
    assert start["affinity"] is start["threads_proof"]["threads_ran"] is None
    assert result["status"] == "measured", said
    assert {block["run_delay_seconds"] for block in result["blocks"]} == {None}
    found = project.run("respeed", "doctor", check=False, **lock).stdout
    rows = {line.split()[0]: line for line in found.splitlines() if line}
    assert " yes " in rows["torch-all"], found
    assert max(map(len, found.splitlines())) < 160
