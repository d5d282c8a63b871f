"""The hardware sheet, measured: whole or not at all, once, and again where it cannot be used."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.machine.cpu import Core, cache_bytes, usable_cores
from respeed.measure import gauge as measuring
from respeed.measure.gauge import measure_gauge
from respeed.paths import NAME, hardware_path
from respeed.records.store import read_hardware, write_record
from respeed.schedule import gauge as planning
from respeed.schedule.gauge import (
    LEAST_PASSES,
    MOST_PASSES,
    cores_in_turn,
    plan_gauge,
    rate_cases,
    thread_counts,
    why_due,
)

MakeRecord = Callable[..., dict[str, Any]]
SMOKE = hardware_path("box", smoke=True)


@pytest.fixture(scope="module")
def gauged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A smoke run's sheet, measured for real."""
    folder = tmp_path_factory.mktemp("gauged")
    measure_gauge(folder / SMOKE)
    return folder / SMOKE


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch, make_record: MakeRecord) -> list[str]:
    """The profiles of the processes that would have been started, each of which says that all is well."""
    asked: list[str] = []

    def pretend(spec: Any, number: int, lock: int, probes: list[float]) -> dict[str, Any]:
        asked.append(spec.profile.name)
        return make_record([0.01] * 3, index=number, profile=spec.profile.name, smoke=spec.id.smoke)

    monkeypatch.setattr(measuring, "_measure", pretend)
    monkeypatch.setattr(measuring, "machine_lock", lambda wait: contextlib.nullcontext(()))
    return asked


@given(st.integers(1, 512))
def test_the_ladder_has_all_counts_up_to_four_then_powers_of_two_and_all_cores(cores: int) -> None:
    counts = thread_counts(cores)
    assert counts == sorted(set(counts))
    assert {*range(1, min(4, cores) + 1), cores} <= set(counts) <= set(range(1, cores + 1))
    assert all(count in (3, cores) or count & (count - 1) == 0 for count in counts)


def test_a_smoke_sheet_is_a_whole_one_and_marked_as_no_measurement(gauged: Path) -> None:
    sheet = read_hardware(gauged)
    assert sheet["smoke"]
    assert gauged.parts[-4:-1] == ("smoke", "records", "box")
    cases = [case for record in sheet["rounds"] for case in record["cases"]]
    assert {case["workload"] for case in cases} == {"rbm", "cd1_products", "matmul", "memory_copy", "small_step"}
    assert all(case["status"] == "measured" and case["blocks"] for case in cases), [case["reason"] for case in cases]


def test_every_number_of_threads_is_measured_in_a_process_bound_to_as_many_cores(gauged: Path) -> None:
    for record in read_hardware(gauged)["rounds"]:
        assert len(record["provenance"]["affinity"]) == record["threads"]
        assert record["provenance"]["threads_proof"]["threads_ran"] == record["threads"]


def test_a_sheet_that_can_be_used_is_left_as_it_is(gauged: Path, pretended: list[str]) -> None:
    before = gauged.read_bytes()
    measure_gauge(gauged)
    assert gauged.read_bytes() == before
    assert not pretended


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda sheet: sheet | {"schema": 99}, "schema 99"),
        (lambda sheet: sheet | {"rounds": [{}]}, "rounds.0.schema is missing"),
        (lambda sheet: {key: value for key, value in sheet.items() if key != "memory"}, "memory is missing"),
        (lambda sheet: sheet | {"machine": "another"}, "its rounds are of the machine box"),
        (lambda sheet: sheet | {"smoke": False}, "another kind of run"),
        (lambda sheet: sheet | {"digest": "0" * 16}, "something else is measured by now"),
        (
            lambda sheet: sheet | {"provenance": {"machine": sheet["provenance"]["machine"] | {"cpu": "Another CPU"}}},
            "other hardware: CPU, Another CPU",
        ),
    ],
)
def test_a_sheet_that_cannot_be_used_says_why_and_is_measured_anew(
    gauged: Path, tmp_path: Path, pretended: list[str], change: Callable[[Any], Any], reason: str
) -> None:
    path, plan = tmp_path / SMOKE, plan_gauge("box", smoke=True)
    write_record(path, change(json.loads(gauged.read_text())))
    assert reason in (why_due(path, "box", plan) or "")
    measure_gauge(path)
    assert pretended
    assert why_due(path, "box", plan) is None
    assert path.with_name("hardware.json.set-aside-1").exists()


@pytest.mark.parametrize("end", [0, 1, 100, -10])
def test_a_sheet_that_was_cut_is_damaged(gauged: Path, tmp_path: Path, end: int) -> None:
    path = tmp_path / SMOKE
    path.parent.mkdir(parents=True)
    path.write_bytes(gauged.read_bytes()[:end])
    assert "is damaged" in (why_due(path, "box", plan_gauge("box", smoke=True)) or "")


def test_processes_take_turns_at_least_so_many_passes_and_others_are_measured_once(
    tmp_path: Path, pretended: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "SECONDS", 0.0)
    plan = plan_gauge("box", smoke=False)
    measure_gauge(tmp_path / hardware_path("box", smoke=False))
    for spec in plan.often:
        assert pretended.count(spec.profile.name) == LEAST_PASSES
    for spec in plan.once:
        assert pretended.count(spec.profile.name) == 1


def disturb(monkeypatch: pytest.MonkeyPatch, is_hit: Callable[[Any, int], bool]) -> None:
    """Every process that `is_hit` waited for its core all the time."""
    measure = measuring._measure

    def disturbed(spec: Any, number: int, *others: Any) -> dict[str, Any]:
        record = measure(spec, number, *others)
        for block in record["cases"][0]["blocks"] if is_hit(spec, number) else ():
            block["run_delay_seconds"] = 1e7
        return record

    monkeypatch.setattr(measuring, "_measure", disturbed)


def test_on_a_machine_that_others_use_one_pass_is_enough(
    tmp_path: Path, pretended: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "SECONDS", 0.0)
    disturb(monkeypatch, lambda spec, number: True)
    measure_gauge(tmp_path / hardware_path("box", smoke=False))
    assert len(pretended) == len(set(pretended))


def test_what_is_measured_once_is_measured_again_until_it_was_not_disturbed(
    tmp_path: Path, pretended: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "SECONDS", 1e-9)
    monkeypatch.setattr(measuring, "PATIENCE", 1e12)
    plan = plan_gauge("box", smoke=False)
    hit, *others = [spec.profile.name for spec in plan.once]
    disturb(monkeypatch, lambda spec, number: spec.profile.name == hit and number == 1)
    measure_gauge(tmp_path / hardware_path("box", smoke=False))
    assert pretended.count(hit) == 2
    assert all(pretended.count(name) == 1 for name in others)
    assert pretended.count(plan.often[0].profile.name) == LEAST_PASSES


def test_a_wrong_profile_or_one_of_a_device_that_is_not_here_leaves_what_is_measured_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan, right = plan_gauge("box", smoke=False), planning.read_profiles()[0]
    more = {"other": replace(right["gpu"], device="xpu", backend="torch")}
    monkeypatch.setattr(planning, "read_profiles", lambda: (right | more, {"wrong": None}))
    assert plan_gauge("box", smoke=False).digest == plan.digest


def test_a_curve_that_was_disturbed_throughout_is_measured_anew(gauged: Path, tmp_path: Path) -> None:
    path, sheet = tmp_path / SMOKE, json.loads(gauged.read_text())
    for record in sheet["rounds"]:
        for case in record["cases"]:
            for block in case["blocks"]:
                block["run_delay_seconds"] = 1e7
    write_record(path, sheet)
    assert "disturbed" in (why_due(path, "box", plan_gauge("box", smoke=True)) or "")


def test_more_passes_are_made_while_there_is_time(
    tmp_path: Path, pretended: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "SECONDS", 1e6)
    measure_gauge(tmp_path / hardware_path("box", smoke=False))
    assert pretended.count(plan_gauge("box", smoke=False).often[0].profile.name) == MOST_PASSES


def test_a_device_that_is_not_there_is_in_the_sheet_with_the_reason(
    tmp_path: Path, pretended: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(measuring, "plan_gauge", lambda *_: without_gpu())
    path = tmp_path / hardware_path("box", smoke=False)
    measure_gauge(path)
    absent = read_hardware(path)["absent"]
    assert {one["reason"] for one in absent} == {"no CUDA device"}
    assert all(one["cases"] for one in absent)


def without_gpu() -> Any:
    plan = plan_gauge("box", smoke=False)
    spec = replace(plan.often[0], profile=replace(plan.often[0].profile, device="cuda"))
    return replace(plan, absent=((spec, "no CUDA device"),))


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


def test_what_is_measured_does_not_hang_on_the_machines_name_or_the_run() -> None:
    assert plan_gauge("one", smoke=False).digest == plan_gauge("other", smoke=False).digest
    assert plan_gauge("one", smoke=False).digest != plan_gauge("one", smoke=True).digest


def test_caches_of_a_core_are_counted_once_each_and_instructions_not_at_all(tmp_path: Path) -> None:
    for cpu in (0, 1):
        for index, facts in enumerate(
            (("Data", "1", "48K", str(cpu)), ("Instruction", "1", "64K", str(cpu)), ("Unified", "3", "8M", "0-1"))
        ):
            folder = tmp_path / f"cpu{cpu}/cache/index{index}"
            folder.mkdir(parents=True)
            for name, value in zip(("type", "level", "size", "shared_cpu_list"), facts, strict=True):
                (folder / name).write_text(f"{value}\n")
    assert cache_bytes((0, 1), tmp_path) == {"L1": 2 * 48 * 2**10, "L3": 8 * 2**20}
    assert cache_bytes((0, 1), tmp_path / "nowhere") == {}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_every_case_has_a_name_that_a_record_may_have(device: str) -> None:
    for case in rate_cases("torch", device, "fp32", 1):
        assert NAME.fullmatch(case.name)


def test_a_process_of_a_count_is_bound_to_so_many_of_the_usable_cores() -> None:
    for spec in plan_gauge("box", smoke=False).often:
        assert len(spec.cpus) == spec.threads
        assert set(spec.cpus) <= set(usable_cores())


def test_threads_are_added_on_fast_cores_first_and_socket_by_socket() -> None:
    sockets = [Core((cpu, cpu + 4), cpu % 2) for cpu in range(4)]
    assert cores_in_turn(range(4), sockets) == (0, 2, 1, 3)
    kinds = [Core((cpu,), 0, "efficiency" if cpu < 2 else "performance") for cpu in range(4)]
    assert cores_in_turn(range(4), kinds) == (2, 3, 0, 1)
    assert cores_in_turn(range(4), ()) == (0, 1, 2, 3)
