"""On macOS nothing binds a process, and there is neither /proc nor /sys: what is left of this system still measures."""

import json

import pytest

from tests.conftest import Project

# Read by every process as it starts. What is built for Linux alone is loaded before the system is another one, and
# still finds what it reads; the project's own code, which may call it, does not.
MAC = """
import io, os, platform, sys
import numba, numpy, psutil, scipy.linalg, torch

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


@pytest.fixture
def mac(project: Project) -> Project:
    (project.folder / "workflow/sitecustomize.py").write_text(MAC)
    return project


def measure(mac: Project, *profiles: str) -> str:
    options = ("--config", "preset=smoke", "--only", "/rbm/", "--profiles", *profiles)
    return mac.run("respeed", "measure", *options, check=False).stdout


def test_rows_of_the_cpu_are_measured_on_a_mac_and_say_what_nobody_knows_there(mac: Project) -> None:
    said = measure(mac, "torch-1", "torch-all")
    (path,) = (mac.folder / "results/smoke/records").glob("*/torch-all/*.jsonl")
    start, *results = map(json.loads, path.read_text().splitlines())
    assert start["machine"]["system"].startswith("Darwin")
    assert start["affinity"] is start["threads_proof"]["threads_ran"] is None
    assert {result["status"] for result in results} == {"measured"}, said
    assert {block["run_delay_seconds"] for result in results for block in result["blocks"]} == {None}


def test_a_mac_says_of_each_row_whether_it_applies(mac: Project) -> None:
    said = mac.run("respeed", "doctor", check=False).stdout
    rows = {line.split()[0]: line for line in said.splitlines() if line}
    assert "no CUDA device" in rows["gpu"], said
    assert "needs Accelerate" in rows["accelerate-1"]  # SciPy has OpenBLAS here
    assert " yes " in rows["torch-all"]


def test_a_profile_of_apples_gpu_says_in_one_line_what_is_missing(mac: Project) -> None:
    text = (mac.folder / "workflow/hardware/gpu.yaml").read_text().replace("device: cuda", "device: mps")
    (mac.folder / "workflow/hardware/apple.yaml").write_text(text)
    assert "apple: not measured: no MPS device" in measure(mac, "apple")
