"""Memory that is limited: what does not fit is known before, and only that is left out."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from respeed.backends import openblas
from respeed.measure.bench import make_bench
from respeed.measure.case import measure_case
from respeed.measure.turn import how_it_ended
from respeed.model.paper import Case
from respeed.paths import RoundId
from respeed.schedule.spec import make_spec

ROUND = RoundId("box", "raina2009", "rbm", "openblas-1", 1, smoke=True)
# Larger than what an allocator may keep of other tests' arrays, which counts as free.
LARGE = Case("large", "rbm", {"visible": 2**16, "hidden": 2**16, "batch": 192, "learning_rate": 0.01})
GROUP = Path("/sys/fs/cgroup/memory")

# What is free before and after a limit of 100 MB more than there is, in a process that shares 500 MB, as libraries are.
LIMITED = """
import mmap, resource, sys, psutil
from respeed.machine.memory import memory_free
shared = mmap.mmap(-1, 500_000_000)
before, used = memory_free(), psutil.Process().memory_info()
limit, counted = sys.argv[1:]
resource.setrlimit(getattr(resource, limit), (getattr(used, counted) + 100_000_000,) * 2)
print(before > 500e6, 90e6 < memory_free() - used.rss < 110e6)
"""


def test_a_control_group_leaves_out_the_case_that_does_not_fit_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("respeed.machine.cgroup.memory_left", lambda: 100_000_000)
    spec = make_spec(ROUND, 1)
    spec = replace(spec, cases=(LARGE, spec.cases[0]))
    bench, _ = make_bench(openblas.Backend(device="cpu", precision="fp32", threads=1, seed=1))
    large, small = (measure_case(spec, index, bench) for index in range(2))
    assert large["status"] == "not-run"
    assert re.fullmatch(r"needs \d+\.\d GB of memory, has \d+\.\d", large["reason"])
    assert small["status"] == "measured"


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are Linux's")
@pytest.mark.parametrize(("limit", "counted"), [("RLIMIT_AS", "vms"), ("RLIMIT_DATA", "data")])
def test_a_limit_counts_against_what_it_limits(limit: str, counted: str) -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED, limit, counted], text=True, capture_output=True, check=True)
    assert done.stdout == "True True\n"


@pytest.mark.parametrize(("lacked", "why"), [(True, "by the kernel, for want"), (False, "perhaps for want")])
def test_a_kill_by_the_kernel_is_told_apart_from_any_other(lacked: bool, why: str) -> None:
    assert how_it_ended(-9, lacked_memory=lacked) == f"the measuring process was killed, {why} of memory"


@pytest.mark.slow
def test_a_group_with_too_little_memory_for_the_process_fails_its_cases_and_not_the_run(tmp_path: Path) -> None:
    group = GROUP / f"respeed-test-{tmp_path.name}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text("150M")
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    settings = ["preset=smoke", "experiments=rbm", "profiles=openblas-1", "machine=box"]
    command = [sys.executable, "-m", "respeed", "measure", "--config", *settings]
    try:
        done = subprocess.run(
            ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(group), *command], cwd=tmp_path, text=True,
            capture_output=True, check=False,
        )  # fmt: skip
    finally:
        group.rmdir()
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.glob("results/smoke/records/box/*/*/*/round-01.json")
    assert "the measuring process was killed, by the kernel, for want of memory" in file.read_text()
