"""Programs of somebody else's: each run is a fresh process, bounded and checked, and nothing of it goes on."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from respeed.backends import make_backend
from respeed.errors import WrongResult
from respeed.inputs.machines import load_profile
from respeed.inputs.papers import PAPER_FILES, load_paper
from respeed.measure.case import Bench, make_bench, measure_case
from respeed.measure.order import Job, Order
from respeed.model import Case, Paper
from respeed.schedule import work
from respeed.workloads import program
from tests.conftest import ROOT
from tests.orders import order_of
from tests.signals import still_run

EXAMPLE = ROOT / "docs/three-loops"
PYTHON = [sys.executable, "-I", "-S", "-c"]
FILES = {"like.txt": "1 2, 3", "other": "1 2 4", "near": "1.02 2\n3", "one": "1", "words": "1 two 3", "script": "1"}


@cache
def bench() -> Bench:
    return make_bench(make_backend("program", device="cpu", precision="fp32", threads=1, seed=1))[0]


def order_for(*command: str, n: int = 3, **said: Any) -> Order:
    case = Case("one", "program", {"n": n, "program": {"paper": "loops", "command": [*command], **said}})
    return replace(order_of(cases=(Job(case, 2, ""),)), profile=load_profile("program-1"))


def measured(*command: str, **said: Any) -> dict[str, Any]:
    order = order_for(*command, **said)
    return measure_case(order, order.cases[0], bench())


def seconds_of(facts: dict[str, Any]) -> set[float]:
    assert facts["status"] == "measured", facts["reason"]
    return {second for block in facts["blocks"] for second in block.sample_seconds}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of the paper `loops`."""
    for module in (program, work):
        monkeypatch.setattr(module, "find_file", lambda kind, name: tmp_path / name)
    (tmp_path / "loops").mkdir()
    for name, text in FILES.items():
        (tmp_path / "loops" / name).write_text(text)
    return tmp_path / "loops"


WRONG = yaml.safe_load(Path(__file__).with_name("wrong.yaml").read_bytes())


@pytest.mark.parametrize("name", WRONG)
def test_a_program_that_goes_wrong_has_a_reason(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if limit := {"hard pattern": "PATTERN_SECONDS", "endless": "TIMEOUT_SECONDS"}.get(name):
        monkeypatch.setattr(program, limit, 0.5)
    command, said, status, reason = WRONG[name]
    began = time.monotonic()
    facts = measured(*command, **said)
    assert (facts["status"], facts["blocks"], facts["reason"].count("\n")) == (status, [], 0)
    assert reason in facts["reason"]
    if took := re.search("took ([0-9.e-]+) s", facts["reason"]):
        assert 0 < float(took[1]) < time.monotonic() - began


def test_a_command_is_words_and_is_checked(folder: Path) -> None:
    """A command is words without a shell and its file is right within the table's tolerance."""
    echo = "import sys; print(*sys.argv[1:], 1e-6)"
    words = ("$HOME; ls | *", "{n}", "{threads}", "{precision}", "{device}", "{seed}", "{other}")
    pattern = r"^\$HOME; ls \| \* 3 1 fp32 cpu [0-9]+ \{other\} (.*)$"
    assert seconds_of(measured(*PYTHON, echo, *words, time_pattern=pattern)) == {1e-6}
    facts = measured("cp", "{paper}/near", "out", file="out", like="like.txt", tolerance=0.01)
    assert (facts["status"], facts["tolerance"]) == ("measured", 0.01)
    assert facts["errors"] == {"out": pytest.approx(0.02 / 3)}


def test_the_time_is_whole_or_as_printed(folder: Path) -> None:
    """Of the whole process a block tells also how long runs waited for a core, where the kernel does."""
    slow = 'import time; time.sleep(0.05); print("it took", 2.5, "ms")'
    whole = measured(*PYTHON, slow)
    told = measured(*PYTHON, slow, time_pattern="took (.+) ms", time_unit="milliseconds")
    assert min(seconds_of(whole)) >= 0.05
    assert seconds_of(told) == {0.0025}
    assert len(told["blocks"]) <= 2 * len(whole["blocks"])  # as much of it is run as of what counts whole
    for facts, tells in ((whole, Path("/proc/self/schedstat").exists()), (told, False)):
        for block in facts["blocks"]:
            assert (block.run_delay_seconds is not None) == tells
            assert (block.minor_faults, block.threads_ran) == (0, None)


def test_every_run_is_fresh_first_untimed(folder: Path) -> None:
    """Every run is a fresh process and the first is never timed."""
    script = '[ -e "$0" ] && t=0.03125 || t=0.5; echo $$ >> "$0"; sleep $t; echo $t'
    facts = measured("sh", "-c", script, str(folder / "runs"), time_pattern="(.*)")
    runs = (folder / "runs").read_text().split()
    assert len({*runs}) == len(runs) > 1
    assert seconds_of(facts) == {0.03125}


# A program with a child; both say so if they were let go on.
LATER = "import sys, time; time.sleep(20); open(sys.argv[1] + '-survived', 'a')"
CHILD = f"""
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", {LATER!r}, sys.argv[1]], stdout=-3, stderr=-3)
with open(sys.argv[1], "w") as file:
    file.write(f"{{child.pid}} {{os.getpid()}}")
"""
# What ends the two that go on is the alarm of the measuring process, which sounds as soon as there are others to end.
ALARM = f"os.kill(os.getppid(), {signal.SIGALRM})\n{LATER}"
ENDS = {
    "ends": "raise SystemExit(1)",
    "ends well": "",
    "says no more": f"child.kill(); child.wait(); os.close(1); os.close(2)\n{ALARM}",
    "leaves its group": f"os.setsid()\n{ALARM}",
}


def all_gone(pids: Path) -> bool:
    return not still_run([*map(int, pids.read_text().split())]) and not pids.with_name("pids-survived").exists()


@pytest.mark.parametrize("name", ENDS)
def test_nothing_that_a_run_started_outlives_it(folder: Path, name: str) -> None:
    facts = measured(*PYTHON, f"{CHILD}\n{ENDS[name]}", str(folder / "pids"))
    assert facts["status"] == ("measured" if name == "ends well" else "failed")
    assert all_gone(folder / "pids")


# A run in a process that measures nothing.
STEP = """
import sys
from respeed.workloads.program import Program, Runner
Runner(Program(program={"paper": "", "command": sys.argv[1:]}), threads=1, precision="fp32", seed=1).step()
"""


def test_killing_the_measurement_ends_every_run(folder: Path) -> None:
    """Nothing that a run started goes on when the measuring process is killed."""
    measuring = subprocess.Popen(
        [sys.executable, "-c", STEP, *PYTHON, f"{CHILD}\n{LATER}", str(folder / "pids")],
        env={**os.environ, "PYTHONPATH": str(ROOT / "workflow")},
    )
    while not (folder / "pids").exists() or not (folder / "pids").read_text():
        assert measuring.poll() is None
        time.sleep(0.02)
    measuring.kill()
    measuring.wait()
    assert all_gone(folder / "pids")


def runner_of(*command: str, device: str = "cpu", **said: Any) -> Any:
    commands = {"gpu" if device != "cpu" else "multi-cpu": [*command], "single-cpu": ["gone"]}
    whole = program.Program(program={"paper": "", "command": commands, **said}, n=3)
    return program.Runner(whole.on_row(next(iter(commands)), device), 2, "fp32", seed=1)


def test_a_blocks_runs_are_summed() -> None:
    """Runs of a block are summed and those that take more CPUs than the row has no time."""
    runner, nan = runner_of("true"), float("nan")
    runner._runs += [program.Run("", 99, 99.0), program.Run("", 1.0, 0.25), program.Run("", 3.2, 0.5)]
    assert (runner.own_seconds(2, 2.0), runner.run_seconds) == (2.0, 1.0)
    runner._runs += [program.Run("", 0.0, 2.0)]
    assert runner.own_seconds(1, 1.0) == 1.0
    assert runner.happened() == {"run_delay_seconds": 2.75, "threads_ran": None, "minor_faults": 0}
    assert runner.happened()["run_delay_seconds"] == 0
    runner._runs += [program.Run("", 0.0, nan), program.Run("", 4.0, 0.0)]
    assert (runner.own_seconds(2, 2.0), runner.happened()["run_delay_seconds"]) == (2.0, None)
    runner._runs += [program.Run("", 3.0, 0.0), program.Run("", 2.0, 0.0)]
    with pytest.raises(WrongResult, match=r"^took the time of 2\.5 CPUs, 2 asked$"):
        runner.own_seconds(2, 2.0)


def test_a_runs_cpu_time_includes_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    wait, used = os.wait4, SimpleNamespace(ru_utime=1.5, ru_stime=0.25)
    monkeypatch.setattr(os, "wait4", lambda process, options: (*wait(process, options)[:2], used))
    assert runner_of("true")._run().cpu_seconds == 1.75


@pytest.mark.parametrize(
    ("unit", "each"), [("seconds", 1.0), ("milliseconds", 1e-3), ("microseconds", 1e-6), ("", 1.0)]
)
def test_printed_times_are_summed_in_their_unit(unit: str, each: float) -> None:
    runner = runner_of("true", time_pattern="^took (.*)$", **{"time_unit": unit} if unit else {})
    runner._runs += [program.Run("first\ntook 2.5\nlast", 0.0, 0.5), program.Run("took 1.6", 0.0, 0.5)]
    assert runner.own_seconds(2, 4.0 * each) == pytest.approx(4.1 * each)
    assert runner.happened()["run_delay_seconds"] is None  # it may have waited before what it timed


def test_on_a_gpu_a_program_has_its_command() -> None:
    """On a GPU a program has its own command the kind of its device and as many threads as it likes."""
    runner = runner_of("sh", "-c", "echo $0 $CUDA_VISIBLE_DEVICES >&2; pwd", "{device}", device="cuda:1")
    runner.step()
    assert runner._runs[0].printed.strip().split(maxsplit=2) == ["cuda", "1", runner.scratch]
    runner._runs += [program.Run("", 99.0, 0.0)]
    assert runner.own_seconds(2, 2.0) == 2.0
    runner.close()
    assert not Path(runner.scratch).exists()


def test_a_program_sees_its_rows_device_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program sees the device of its row alone and none on a CPU."""
    monkeypatch.setattr(os, "environ", {"MALLOC_TRIM_THRESHOLD_": "1", "OMP_NUM_THREADS": "7"})
    for device, sees in (("cpu", "-1"), ("cuda", "0"), ("cuda:1", "1")):
        seen = {"CUDA_VISIBLE_DEVICES": sees, "HIP_VISIBLE_DEVICES": sees}
        assert program.environment(device, "x") == {"OMP_NUM_THREADS": "7", "PYTHONPYCACHEPREFIX": "x"} | seen
    monkeypatch.setattr(os, "environ", {"CUDA_VISIBLE_DEVICES": "4,GPU-7"})
    assert program.environment("cuda:1", "x")["CUDA_VISIBLE_DEVICES"] == "GPU-7"


def example(folder: Path) -> Paper:
    """Return the example of docs/adding.md as the paper `loops`."""
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
    return replace(PAPER_FILES, folder=folder.parent).load("loops")


def test_a_program_runs_only_in_named_rows(folder: Path) -> None:
    """A row runs a program where its command names such rows and no other profile runs any."""
    table = example(folder).experiments["products"]
    for name, count in {"program-1": 2, "program-all": 2, "program-gpu": 0, "openblas-1": 0, "torch-all": 0}.items():
        assert len(work.cases_of(table, load_profile(name))) == count, name
    assert not work.cases_of(load_paper("raina2009").experiments["matmul"], load_profile("program-1"))


def test_another_build_of_a_program_is_another_measurement(folder: Path) -> None:
    case, digests = example(folder).experiments["products"].cases[0], []
    for text in ("", "one", "one", "two"):
        if text:
            (folder / "multiply").write_text(text)
        digests.append(work.source_of(case, "single-cpu"))
    assert digests[1] == digests[2]
    assert len({*digests}) == 3
