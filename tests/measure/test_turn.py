"""Turns in processes of their own, for real: what they write, and what happens when one of these is in trouble."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from respeed.analysis.rounds import read_rounds
from respeed.errors import UserError
from respeed.inputs.papers import load_papers
from respeed.machine.process import machine_lock
from respeed.measure.order import Order
from respeed.measure.turn import measure_turn
from respeed.records import Record, Result, read_records
from tests.orders import name_of, order_of
from tests.signals import STOPPED, hear_all, lines_of, runs
from tests.systems import on_small_disk

COMMAND = [sys.executable, "-m", "respeed.cli", "measure", "--config", "preset=smoke", "experiments=rbm",
           "profiles=openblas-1", "machine=box", "papers=raina2009"]  # fmt: skip
CASES = ["36x64", "64x256", "144x1000", "256x688"]
# What a shell may say of threads, compilers and letters.
FOREIGN = {
    "OMP_NUM_THREADS": "64", "OMP_PROC_BIND": "close", "MKL_NUM_THREADS": "9", "MKL_DYNAMIC": "TRUE",
    "OPENBLAS_NUM_THREADS": "7", "OPENBLAS_CORETYPE": "Prescott", "KMP_AFFINITY": "compact", "GOMP_CPU_AFFINITY": "0",
    "NUMBA_DISABLE_JIT": "1", "NUMBA_NUM_THREADS": "5", "PYTHONMALLOC": "debug", "PYTHONUTF8": "0",
    "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "POSIX",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_case_whose_facts_nothing_could_read_again_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one of a workload that counts half an operation: the process has told the others."""
    tell, told = json.loads, []

    def halve(text: str, **how: Any) -> Any:
        event = tell(text, **how)
        if isinstance(event, dict) and event.get("event") == "case" and not told:
            told.append(event["facts"].__setitem__("flops", 0.5))
        return event

    monkeypatch.setattr("respeed.measure.turn.json.loads", halve)
    (record,) = take(order_of())
    assert [one.status for one in record.results] == ["failed", *["measured"] * 3]
    assert "flops" in str(record.results[0].reason)


def take(order: Order, begun: list[str] | None = None) -> list[Record]:
    """The records that the turn leaves, as they are read again: they are what it says."""
    with machine_lock() as lock:
        told = measure_turn(order, "box", True, lock, watch=[].append if begun is None else begun.append)
    assert [(one.start, one.results) for one in told] == [(one.start, one.results) for one in read_records(True, "box")]
    return told


def by_case(records: list[Record]) -> dict[str, Result]:
    return {name_of(one): one for record in records for one in record.results}


def plant(monkeypatch: pytest.MonkeyPatch, folder: Path, code: str) -> None:
    """Run the code in every measuring process, as it starts."""
    folder.mkdir()
    lines = "".join(f"    {line}\n" for line in code.strip().splitlines())
    text = f"import sys\nif 'respeed.measure.turn' in ' '.join(sys.orig_argv):\n{lines}"
    (folder / "sitecustomize.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)


def test_a_turn_measures_every_case_in_an_environment_of_its_own_and_records_how_and_where(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    preload = {"LD_PRELOAD": "libm.so.6"} if sys.platform == "linux" else {}
    for name, value in (FOREIGN | preload).items():
        monkeypatch.setenv(name, value)
    order = order_of()
    (record,) = take(order)
    assert [name_of(one) for one in record.results] == [asked.case.name for asked in order.cases]
    for one in record.results:
        assert one.status == "measured", one.reason
        assert 0 <= max(error for error in one.errors.values() if error is not None) < 1e-4
        assert one.blocks
    # More is in the file than tables need.
    first, *_ = lines_of(record.path)
    told = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_TRIM_THRESHOLD_": "4294967295"}
    assert first["environment"].items() >= (told | preload).items()
    assert not {"OPENBLAS_CORETYPE", "NUMBA_DISABLE_JIT", "OMP_PROC_BIND"} & first["environment"].keys()
    assert (first["backend"]["threads_set"], first["backend"]["library"], len(first["affinity"])) == (1, "OpenBLAS", 1)
    assert first["threads_proof"]["threads_ran"] in (1, None)
    assert first["ceilings"]["flops_per_second"] > 1e8
    assert first["ceilings"]["bytes_per_second"] > 1e7
    files = " ".join(library["file"] for library in first["libraries"])
    assert all(name in files for name in ("numpy", "scipy"))
    assert record.wall_seconds > sum(one.wall_seconds for one in record.results) > 0


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("time.sleep(600)", "said nothing for 0.15 min: stuck, perhaps in a driver or a compiler"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "the measuring process was killed, perhaps for want of memory"),
    ],
)
def test_a_case_that_hangs_or_kills_its_process_fails_alone_and_the_next_begins_in_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, reason: str
) -> None:
    code = f"""
import os, signal, time
from respeed.workloads.rbm import Rbm
original = Rbm.arrays
def arrays(self, random):
    if self.visible == 64: {what}
    return original(self, random)
Rbm.arrays = arrays
"""
    plant(monkeypatch, tmp_path / "planted", code)
    monkeypatch.setattr("respeed.measure.turn.CPU_MINUTES", 0.15)
    records = take(order_of())
    found = by_case(records)
    assert {name: found[name].status for name in CASES} == dict.fromkeys(CASES, "measured") | {"64x256": "failed"}
    assert (found["64x256"].reason, len(records)) == (reason, 2)


def test_a_process_that_says_nothing_would_say_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, tmp_path / "mute", "import os; os._exit(3)")
    (record,) = take(order_of())
    assert record.start.backend is None
    assert {(one.status, one.reason) for one in record.results} == {
        ("failed", "the measuring process ended with exit code 3")
    }


@pytest.mark.parametrize(
    ("bad", "is_lost", "processes"),
    [pytest.param(1, True, 2, marks=pytest.mark.slow), (1, False, 1), (4, True, 3)],
    ids=["lost", "out of memory", "lost each time"],
)
def test_a_case_that_leaves_its_process_without_the_device_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: int, is_lost: bool, processes: int
) -> None:
    """An error after which every call fails: the case has it as its reason, and the next ones a new process; after
    three, the others of the turn are not begun."""
    cases = ["64x256", "36x64", "144x1000", "256x688"]
    error = "CUDA error: an illegal memory access was encountered" if is_lost else "CUDA out of memory"
    failing = f"""
from respeed.backends import Backend
from respeed.workloads.rbm import Rbm
original, failed = Rbm.arrays, []
def arrays(self, random):
    name = f'{{self.visible}}x{{self.hidden}}'
    if name in {cases[:bad]}: failed.append(True)
    if name in {cases[:bad]} or failed and {is_lost}: raise RuntimeError({error!r})
    return original(self, random)
def sync(self):
    if failed and {is_lost}: raise RuntimeError({error!r})
Rbm.arrays, Backend.sync = arrays, sync
"""
    plant(monkeypatch, tmp_path / "failing", failing)
    records = take(order_of())
    told = [(name_of(one), one.status, one.reason) for record in records for one in record.results]
    assert sorted(name for name, *_ in told) == sorted(CASES)
    failed = [one for one in told if one[1:] == ("failed", f"RuntimeError: {error}")]
    assert {name for name, *_ in failed} <= set(cases[:bad])
    assert len(failed) == min(bad, 3)
    assert {one[1:] for one in told if one not in failed} == {
        ("measured", None) if bad == 1 else ("not-run", "3 other cases left the device useless")
    }
    assert len(records) == processes


@pytest.mark.parametrize(("disturbed", "is_clean"), [(1, True), (5, False)])
def test_a_case_that_was_disturbed_is_measured_once_more_in_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disturbed: int, is_clean: bool
) -> None:
    """The first so many attempts at the case 64x256 have used up a quota."""
    disturbing = f"""
from dataclasses import replace
from respeed.measure import case
left, original = [{disturbed}], case._measure
def measure(order, asked, workload, bench, facts):
    original(order, asked, workload, bench, facts)
    if asked.case.name == '64x256' and left[0] > 0:
        left[0] -= 1
        facts['blocks'] = [replace(block, quota_throttles=1) for block in facts['blocks']]
case._measure = measure
"""
    plant(monkeypatch, tmp_path / "disturbed", disturbing)
    begun: list[str] = []
    records = take(order_of(), begun)
    again = Counter(name for name in begun if name.endswith("again"))
    assert again == Counter({"rbm 64x256, which was disturbed, again": min(disturbed, 1)})
    result = by_case(records)["64x256"]
    assert result.attempts == 1 + min(disturbed, 1)
    # What was disturbed stays in the record, and the cell counts the round once.
    papers = {name: one.at_tiny_sizes() for name, one in load_papers(["raina2009"]).items()}
    (row,) = read_rounds(records, papers).query("case == '64x256' and experiment == 'rbm'").itertuples()
    assert row.cause_counts["CPU quota used up"] == (row.discarded if disturbed else 0)
    assert (row.step_seconds > 0) == is_clean


def test_a_full_disk_ends_the_run_with_one_line_and_what_was_written_can_be_read(tmp_path: Path) -> None:
    """Of 12 kB the first cases take a part; `measure` itself looks for room before it begins."""
    code = (
        "import respeed.commands as cli, sys; cli.check_room = lambda folder: None;"
        f"from respeed.cli import main; sys.exit(main({COMMAND[3:]!r}))"
    )
    shell = ["sh", "-c", '"$@"; echo $?; find results -name "*.jsonl" -exec cat {} +', "sh", sys.executable, "-c", code]
    done = subprocess.run([*on_small_disk(tmp_path, "12k"), *shell], text=True, capture_output=True, check=True)
    assert "Traceback" not in done.stderr
    assert "No space left on device" in done.stderr.splitlines()[-1]
    said, *lines = done.stdout.splitlines()
    assert said == "2"
    assert all(line.startswith("{") and line.endswith("}") for line in lines)


@pytest.mark.parametrize(
    ("sent", "to_all"),
    [(signal.SIGKILL, False), (signal.SIGTERM, True)],
)
def test_a_run_that_is_killed_leaves_no_process_and_nothing_half_written(
    tmp_path: Path, sent: signal.Signals, to_all: bool
) -> None:
    with subprocess.Popen(
        COMMAND, stderr=subprocess.PIPE, text=True, preexec_fn=hear_all, start_new_session=True
    ) as parent:
        assert parent.stderr is not None
        while "turn 1 of 1" not in parent.stderr.readline():
            assert parent.poll() is None
        deadline = time.monotonic() + 20
        started = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
        # Python drops what a signal raises in the hooks that run right after a fork.
        while not any(map(is_measuring, children := started.read_text().split())):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        (os.killpg if to_all else os.kill)(parent.pid, sent)
        told = parent.stderr.read()
        parent.wait(timeout=20)
    if sent != signal.SIGKILL:
        assert parent.returncode == 130
        assert told.splitlines()[-1] == STOPPED
    deadline = time.monotonic() + 10
    while any(map(runs, map(int, children))):
        assert time.monotonic() < deadline, "the measuring process outlived its parent"
        time.sleep(0.05)
    assert not [*tmp_path.rglob("*.jsonl"), *tmp_path.rglob("*.part")]


def is_measuring(pid: str) -> bool:
    try:
        return b"respeed.measure.turn" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return False


def test_a_program_that_nobody_allowed_is_not_run_whoever_orders_it() -> None:
    order = order_of()
    asked: Any = order.cases[0]
    parameters = {"program": {"paper": "three-loops", "command": ["rm", "-r", "all"]}}
    theirs = replace(asked, case=replace(asked.case, workload="program", parameters=parameters))
    with pytest.raises(UserError, match="would run rm -r all"):
        take(replace(order, cases=(theirs,)))
