"""The hardware sheet, planned and measured: whole or not at all, once, and again where it cannot be used."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.inputs.profiles import load_profile
from respeed.machine import cpu
from respeed.machine.cpu import usable_cores
from respeed.measure import session
from respeed.measure.session import measure_gauge
from respeed.paths import HARDWARE, NAME, hardware_path
from respeed.protocol import Probes
from respeed.records.store import read_file, write_json
from respeed.schedule import gauge as planning
from respeed.schedule.gauge import (
    LEAST_PASSES,
    MOST_PASSES,
    NOT_GAUGED,
    plan_gauge,
    rate_cases,
    thread_counts,
    why_due,
)
from tests.conftest import MakeRecord

SMOKE = hardware_path("box", smoke=True)
FULL = hardware_path("box", smoke=False)


@pytest.fixture(scope="module")
def gauged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A smoke run's sheet, measured for real."""
    folder = tmp_path_factory.mktemp("gauged")
    measure_gauge(folder / SMOKE)
    return folder / SMOKE


class Pretended:
    """Processes that are not started: each says that all is well, or that it waited for its core where it is `hit`."""

    def __init__(self, make_record: MakeRecord) -> None:
        self.make_record = make_record
        self.asked: list[str] = []
        self.probes: dict[str, int] = {}
        self.is_hit: Callable[[str, int], bool] = lambda profile, number: False

    def measure(self, specs: list[Any], _: object, probes: Probes) -> Iterator[tuple[Any, dict[str, Any]]]:
        (spec,) = specs
        name, number = spec.profile.name, spec.id.index
        self.asked.append(name)
        self.probes[name] = len(probes)
        record = self.make_record([0.01] * 3, index=number, profile=name, smoke=spec.id.smoke)
        for block in record["cases"][0]["blocks"] if self.is_hit(name, number) else ():
            block["run_delay_seconds"] = 1e7
        yield spec.id, record


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch, make_record: MakeRecord) -> Pretended:
    made = Pretended(make_record)
    monkeypatch.setattr(session, "measure_turn", made.measure)
    monkeypatch.setattr(session, "machine_lock", lambda wait: contextlib.nullcontext(()))
    return made


@given(st.integers(1, 512))
def test_the_ladder_has_all_counts_up_to_four_then_powers_of_two_and_all_cores(cores: int) -> None:
    counts = thread_counts(cores)
    assert counts == sorted(set(counts))
    assert {*range(1, min(4, cores) + 1), cores} <= set(counts) <= set(range(1, cores + 1))
    assert all(count in (3, cores) or count & (count - 1) == 0 for count in counts)


def test_a_smoke_sheet_is_a_whole_one_of_processes_bound_to_as_many_cores_as_threads(gauged: Path) -> None:
    sheet = read_file(gauged, True)
    assert sheet["smoke"]
    cases = [case for record in sheet["rounds"] for case in record["cases"]]
    assert {case["workload"] for case in cases} == {"rbm", "cd1_products", "matmul", "memory_copy", "small_step"}
    assert all(case["status"] == "measured" and case["blocks"] for case in cases), [case["reason"] for case in cases]
    for record in sheet["rounds"]:
        told = record["provenance"]
        assert len(told["affinity"]) == record["threads"] == told["threads_proof"]["threads_ran"]
        # What all share stands once.
        assert not {"machine", "commit", "versions", "libraries", "environment"} & told.keys()


def test_a_sheet_that_can_be_used_is_left_as_it_is(gauged: Path, pretended: Pretended) -> None:
    before = gauged.read_bytes()
    measure_gauge(gauged)
    assert (gauged.read_bytes(), pretended.asked) == (before, [])


def all_disturbed(sheet: dict[str, Any]) -> dict[str, Any]:
    for block in (block for one in sheet["rounds"] for case in one["cases"] for block in case["blocks"]):
        block["run_delay_seconds"] = 1e7
    return sheet


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda sheet: sheet | {"schema": 99}, NOT_GAUGED),
        (lambda sheet: sheet | {"smoke": False}, NOT_GAUGED),
        (lambda sheet: sheet | {"digest": "0" * 16}, "something else is measured by now"),
        (all_disturbed, "everything was disturbed on one thread or on all"),
    ],
)
def test_a_sheet_that_cannot_be_used_says_why_and_is_measured_anew(
    gauged: Path, tmp_path: Path, pretended: Pretended, change: Callable[[Any], Any], reason: str
) -> None:
    path, plan = tmp_path / SMOKE, plan_gauge("box", smoke=True)
    write_json(path, change(json.loads(gauged.read_text())))
    assert reason in (why_due(path, plan) or "")
    measure_gauge(path)
    assert pretended.asked
    assert why_due(path, plan) is None


@pytest.mark.parametrize("end", [0, 1, 100, -10])
def test_a_sheet_that_was_cut_is_none(gauged: Path, tmp_path: Path, end: int) -> None:
    path = tmp_path / SMOKE
    path.parent.mkdir(parents=True)
    path.write_bytes(gauged.read_bytes()[:end])
    assert why_due(path, plan_gauge("box", smoke=True)) == NOT_GAUGED


HIT_ONCE = "the first process that is measured once, in the first pass"


@pytest.mark.parametrize(
    ("seconds", "patience", "hit", "passes", "others"),
    [
        # At least so many passes, and others once.
        (0.0, 1.0, "", LEAST_PASSES, 1),
        # More while there is time.
        (1e6, 1.0, "", MOST_PASSES, 1),
        # On a machine that others use one is enough.
        (0.0, 1.0, "everything", 1, 1),
        # What is measured once is measured again until it was not disturbed.
        (1e-9, 1e18, HIT_ONCE, LEAST_PASSES, 2),
    ],
)
def test_processes_take_turns_pass_after_pass_as_long_as_that_brings_something(
    seconds: float, patience: float, hit: str, passes: int, others: int, tmp_path: Path, pretended: Pretended,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(session, "SECONDS", seconds)
    monkeypatch.setattr(session, "PATIENCE", patience)
    plan = plan_gauge("box", smoke=False)
    first, *rest = [spec.profile.name for spec in plan.once]
    pretended.is_hit = lambda profile, number: bool(hit) and (hit != HIT_ONCE or (profile, number) == (first, 1))
    measure_gauge(tmp_path / FULL)
    assert {pretended.asked.count(spec.profile.name) for spec in plan.often} == {passes}
    assert pretended.asked.count(first) == others
    assert {pretended.asked.count(name) for name in rest} <= {1}
    # The last process of each number of threads knew the probes of those before it.
    assert all((pretended.probes[spec.profile.name] > 0) == (passes > 1) for spec in plan.often)


def test_a_device_that_is_not_there_is_in_the_sheet_with_the_reason(
    tmp_path: Path, pretended: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_gauge("box", smoke=False)
    spec = replace(plan.often[0], profile=load_profile("gpu"))
    monkeypatch.setattr(session, "plan_gauge", lambda *_: replace(plan, absent=((spec, "no CUDA device"),)))
    measure_gauge(tmp_path / FULL)
    (absent,) = read_file(tmp_path / FULL, False)["absent"]
    assert (absent["reason"], len(absent["cases"])) == ("no CUDA device", len(spec.cases))


def test_a_gauge_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / SMOKE
    path.parent.mkdir(parents=True)
    for number in (signal.SIGTERM, signal.SIGKILL):
        with subprocess.Popen(
            [sys.executable, "-m", "respeed", "gauge", str(path)], stderr=subprocess.PIPE, env=os.environ, text=True
        ) as process:
            assert process.stderr is not None
            assert any("pass 1" in line for line in process.stderr)
            time.sleep(0.3)
            process.send_signal(number)
        assert process.returncode
        assert not list(path.parent.iterdir())


def test_a_path_that_is_no_sheets_is_refused_in_one_line() -> None:
    for path in ("hardware.json", "results/records/box/machine.json", "results/records/Box/hardware.json"):
        with pytest.raises(UserError, match=r"must look like|cannot be the name"):
            measure_gauge(Path(path))


def test_what_is_measured_hangs_neither_on_the_machines_name_nor_on_profiles_that_are_wrong_or_not_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_gauge("box", smoke=False)
    assert plan_gauge("other", smoke=False).digest == plan.digest != plan_gauge("box", smoke=True).digest
    shutil.copytree(HARDWARE, tmp_path, dirs_exist_ok=True)
    (tmp_path / "wrong.yaml").write_text("label: 1")
    (tmp_path / "other.yaml").write_text((HARDWARE / "gpu.yaml").read_text().replace("device: cuda", "device: xpu"))
    monkeypatch.setattr(planning, "PROFILE_FILES", replace(planning.PROFILE_FILES, folder=tmp_path))
    assert plan_gauge("box", smoke=False).digest == plan.digest


def test_a_process_is_bound_to_usable_cores_and_a_backend_that_must_be_named_has_none() -> None:
    plan = plan_gauge("box", smoke=False)
    for spec in plan.often:
        assert len(spec.cpus) == spec.threads
        assert set(spec.cpus) <= set(usable_cores())
    assert load_profile("jax-1").optional
    asked = {spec.profile.backend for spec in (*plan.often, *plan.once, *(spec for spec, _ in plan.absent))}
    assert ("torch" in asked, "jax" in asked) == (True, False)


def test_the_caches_of_each_level_are_told_together_and_instructions_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caches = [("L1d", "65536", "Data"), ("L1i", "131072", "Instruction"), ("L3", "8388608", "Unified")]
    told = json.dumps({"caches": [dict(zip(("name", "all-size", "type"), one, strict=True)) for one in caches]})
    monkeypatch.setattr(cpu, "output_of", lambda *_: told)
    assert cpu.cache_bytes() == {"L1": 2**16, "L3": 2**23}
    monkeypatch.setattr(cpu, "output_of", lambda *_: "")
    assert cpu.cache_bytes() == {}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_every_case_has_a_name_that_a_record_may_have(device: str) -> None:
    names = [case.name for case in rate_cases("torch", device, "fp32", 1)]
    assert all(map(NAME.fullmatch, names))
    assert ({"to-pinned", "from-pageable"} <= set(names)) == (device == "cuda")
