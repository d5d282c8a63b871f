"""Turns: what a measuring process leaves, for real; and what happens when one is in trouble, of pretended ones."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import psutil
import pytest

from respeed.inputs.machines import load_profile
from respeed.machine.process import machine_lock
from respeed.measure import turn
from respeed.measure.order import Order
from respeed.measure.turn import measure_turn
from respeed.records import Record, read_records
from tests.known import assert_known
from tests.made import make_lines
from tests.orders import name_of, order_of
from tests.signals import hear_all, lines_of, still_run

COMMAND = [sys.executable, "-m", "respeed.cli", "measure", "--config", "preset=smoke", "experiments=rbm",
           "profiles=openblas-1", "machine=box", "papers=raina2009"]  # fmt: skip
CASES = ["36x64", "64x256", "144x1000", "256x688"]
# What a shell may say of threads, compilers and letters.
FOREIGN = {
    "OMP_NUM_THREADS": "64", "OMP_PROC_BIND": "close", "OPENBLAS_NUM_THREADS": "7", "OPENBLAS_CORETYPE": "Prescott",
    "NUMBA_DISABLE_JIT": "1", "PYTHONMALLOC": "debug", "PYTHONIOENCODING": "ascii", "LC_ALL": "POSIX",
}  # fmt: skip
# Stands for a measuring process: tells at once what it would, and at the start or in a case does what a test says.
WORKER = """
import json, os, signal, sys, time

def tell(event, **facts):
    print(json.dumps(dict(facts, event=event)), flush=True)

def lose():
    tell("case", facts=dict(facts, status="failed", reason="its device is lost", warmup=None, blocks=[]))
    tell("lost")
    time.sleep(600)

trouble, ready, results = json.loads(sys.argv[1])
asked = json.load(sys.stdin)["cases"]
exec(trouble.get("start", ""))
tell("ready", **ready)
for one in asked:
    facts = results[one["case"]["name"]]
    tell("begin", case="any")
    exec(trouble.get(one["case"]["name"], ""))
    tell("case", facts=facts)
"""
FAILED = dict.fromkeys(CASES, "failed")
ALIKE = (
    "backend.library", "backend.threads_set", "environment", "flops", "memory_bytes", "number", "parameters", "parts",
    "profile", "reason", "schema", "seed", "smoke", "status", "threads:", "timing", "tolerance", "traffic", "workload",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _in_a_folder_and_with_a_lock_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or else it would wait for other tests that measure."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def take(order: Order, say: Callable[[str], None] = print) -> list[Record]:
    """The records that the turn leaves, as they are read again: they are what it says, and what its watcher is told."""
    finished: list[Record] = []
    watcher = SimpleNamespace(note=say, finish_case=finished.append)
    with machine_lock(None, print) as lock:
        told = sorted(measure_turn(order, "box", True, lock, watcher), key=lambda one: one.path.name)
    assert sorted(str(one.results[-1]) for one in finished) == sorted(str(two) for one in told for two in one.results)
    assert [(one.start, one.results) for one in told] == [(one.start, one.results) for one in read_records(True, "box")]
    return told


def facts_of(value: Any, name: str) -> Iterator[str]:
    """The names of all facts of a line, and the values of those that every machine has alike."""
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from facts_of(one, f"{name}.{key}".strip("."))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for one in value:
            yield from facts_of(one, name)
    else:
        yield f"{name}: {value}" if f"{name}:".startswith(ALIKE) else name


@pytest.mark.known
def test_a_turn_records_every_case_and_how(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A turn measures every case in an environment of its own and records how and where."""
    preload = {"LD_PRELOAD": "libm.so.6"} if sys.platform == "linux" else {}
    for name, value in (FOREIGN | preload).items():
        monkeypatch.setenv(name, value)
    order, said = order_of(), list[str]()
    (record,) = take(order, said.append)
    assert [name_of(one) for one in record.results] == [asked.case.name for asked in order.cases]
    assert said == [
        f"openblas-1: {text}"
        for text in (
            "a process starts, and loads its library",
            *(f"rbm {asked.case.name}" for asked in order.cases),
        )
    ]  # fmt: skip
    for one in record.results:
        assert one.status == "measured", one.reason
        assert 0 <= max(error for error in one.errors.values() if error is not None) < 1e-4
        assert one.blocks
    # More is in the file than tables need.
    first, result, *_ = lines_of(record.path)
    assert preload.items() <= first["environment"].items()
    facts = dict.fromkeys([*facts_of(first, ""), *facts_of(result, "")])
    told = [fact for fact in facts if not re.search("PRELOAD|joules", fact)]
    assert_known(Path(__file__).with_name("facts.txt"), "\n".join(told))
    assert len(first["affinity"]) == 1
    assert first["threads_proof"]["threads_ran"] in (1, None)
    assert first["ceilings"]["flops_per_second"] > 1e8
    assert first["ceilings"]["bytes_per_second"] > 1e7
    assert record.wall_seconds > sum(one.wall_seconds for one in record.results) > 0


@pytest.mark.parametrize(
    ("trouble", "failed", "reason", "processes"),
    [
        ({"64x256": "time.sleep(600)"}, {"64x256": "failed"},
         "said nothing for 0.03 min: stuck, perhaps in a driver or a compiler", 2),
        ({"64x256": "os.kill(os.getpid(), signal.SIGKILL)"}, {"64x256": "failed"},
         "the measuring process was killed, perhaps for want of memory", 2),
        # One that says nothing would say nothing again, and one that refuses would refuse again.
        ({"start": "os._exit(3)"}, FAILED, "the measuring process ended with exit code 3", 1),
        ({"start": "os._exit(0)"}, FAILED, "the measuring process ended with exit code 0", 1),
        ({"start": "time.sleep(600)"}, FAILED, "said nothing for 0.03 min: stuck", 1),
        ({"start": "tell('not-run', reason='too hot'); sys.exit()"}, dict.fromkeys(CASES, "not-run"), "too hot", 1),
        ({"64x256": "os.kill(os.getpid(), signal.SIGSEGV)"}, {"64x256": "failed"},
         "the measuring process ended with SIGSEGV", 2),
        # What it says last is the library's reason.
        ({"64x256": "print('a\\nOMP: Error #15\\n', file=sys.stderr, flush=True); os.abort()"}, {"64x256": "failed"},
         "the measuring process ended with SIGABRT: OMP: Error #15", 2),
        ({"64x256": "lose()"}, {"64x256": "failed"}, "its device is lost", 2),
        (dict.fromkeys(CASES, "lose()"), FAILED | {"256x688": "not-run"}, "its device is lost", 3),
        # What nothing could read again, such as half an operation.
        ({"64x256": "facts = dict(facts, flops=0.5)"}, {"64x256": "failed"}, "the result cannot be recorded: ", 1),
    ],
)  # fmt: skip
def test_a_case_that_crashes_fails_alone(
    trouble: dict[str, str], failed: dict[str, str], reason: str, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After three that were left without their device, the others of the turn are not begun."""
    # Those that do not stay stuck may take hours.
    cases = tuple(replace(asked, guess=0 if asked.case.name in trouble else 1000) for asked in order_of().cases)
    order = order_of(cases=cases)
    made = {asked.case.name: make_lines(case=asked.case, source=asked.source) for asked in order.cases}
    ready = {key: made["64x256"][0][key] for key in ("backend", "energy", "ceilings")}
    told = json.dumps([trouble, ready, {name: result for name, (_, result) in made.items()}])
    worker = partial(subprocess.Popen, [sys.executable, "-I", "-S", "-c", WORKER, told])
    pretended = SimpleNamespace(PIPE=subprocess.PIPE, Popen=lambda _, **options: worker(**options))
    monkeypatch.setattr(turn, "subprocess", pretended)
    if "stuck" in reason:
        monkeypatch.setattr(turn, "START_MINUTES" if "start" in trouble else "CPU_MINUTES", 0.03)
    records = take(order)
    results = {name_of(one): one for record in records for one in record.results}
    assert {name: one.status for name, one in results.items()} == dict.fromkeys(CASES, "measured") | failed
    assert all(str(results[name].reason).startswith(reason) for name in list(failed)[:3])
    assert len(records) == processes
    if len(failed) > 1 and processes > 1:
        assert results[CASES[-1]].reason == "3 other cases left the device useless"


@pytest.mark.skipif(sys.platform != "linux", reason="this system binds no process")
def test_a_row_on_refused_cpus_says_so() -> None:
    """A row whose CPUs the system refuses is not run and says so."""
    (record,) = take(order_of(cpus=(4094, 4095)))
    assert {(one.status, one.reason) for one in record.results} == {
        ("not-run", "the system refuses to bind a process to CPU 4094-4095: Invalid argument")
    }


@pytest.mark.parametrize(
    ("profile", "guess", "program", "minutes"),
    [
        ("torch-1", 0, {}, 60),
        ("torch-1", 200, {}, 100),
        ("gpu", 0, {}, 5),
        ("gpu", 0, {"program": {"paper": "lee2010"}}, 60),
    ],
)
def test_a_case_may_take_its_rows_time(profile: str, guess: float, program: dict[str, Any], minutes: float) -> None:
    """A case may take as long as its row needs and many times the guess of its table."""
    order = order_of()
    asked = order.cases[0]
    asked = replace(asked, guess=guess, case=replace(asked.case, parameters=program))
    process = turn._Process(
        replace(order, profile=load_profile(profile), cases=(asked,)), "box", {"smoke": True}, Mock()
    )
    assert process._minutes() == minutes


def test_a_killed_run_leaves_nothing_half_written(tmp_path: Path) -> None:
    """A run that is killed leaves no process and nothing half written."""
    with subprocess.Popen(COMMAND, stderr=subprocess.PIPE, text=True, preexec_fn=hear_all) as parent:
        while " on openblas-1 " not in (line := parent.stderr.readline()):
            assert line, "it ended by itself"
        children = [one.pid for one in psutil.Process(parent.pid).children()]
        parent.kill()
    assert children
    assert not still_run(children)
    (record,) = tmp_path.rglob("*.jsonl")
    assert record.read_text().endswith("}\n")
    assert not [*tmp_path.rglob("*.part")]
