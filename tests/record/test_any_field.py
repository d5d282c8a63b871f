"""Whatever stands in one field of one file: it is left out with a line, or plan, tables, figures and report can be made
with it. Nothing else ever happens, and the other records stay."""

import contextlib
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from respeed.figures.build import build_figures
from respeed.load.config import load_config
from respeed.load.hardware import load_profiles
from respeed.load.papers import load_papers
from respeed.plan.history import read_history
from respeed.plan.next_turn import Plan
from respeed.plan.work import make_work
from respeed.record.files import write_json, write_record
from respeed.record.hardware import read_machines_hardware
from respeed.record.one_machine import read_machine
from respeed.record.paths import description_path, hardware_path, learning_path, record_paths
from respeed.report.facts import gather_facts
from respeed.tables.build import Tables, build_tables, make_tables
from respeed.tables.others import read_others
from tests.bundle.carried import write_box
from tests.odd import INSTEAD, Way, change, text_of, ways
from tests.sheets import hardware_sheet, no_gpu, write_sheet

MakeRecord = Callable[..., dict[str, Any]]
ROUNDS = 6
KINDS = ("record", "description", "sheet", "learning")
# What of each file the default run tries: one change in so many, and of those that are shown one in so many.
STRIDE, SHOWN = 23, 29


@pytest.fixture
def box(make_record: MakeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """A machine with some rounds and all other files there can be; every fact that one may have is there."""
    monkeypatch.chdir(tmp_path)
    write_box(make_record, profiles=("torch-1",), rounds=ROUNDS)
    write_sheet(hardware_sheet(make_record, passes=1, gpu=True, absent=[no_gpu()]))
    paths = {
        "record": record_paths(False)[1],
        "description": description_path("box", False),
        "sheet": hardware_path("box", False),
        "learning": learning_path("box", "raina2009", "rbm", False),
    }
    asked = {"asked": "0" * 16}
    add(
        paths["description"],
        profiles={"torch-1": asked | {"threads": 1}, "gpu": asked | {"reason": "no CUDA device"}},
    )
    record = json.loads(paths["record"].read_text())
    record["provenance"] |= {
        "energy": {"reason": None, "update_seconds": {"package-0": 0.001}},
        "versions": {"torch": "2.9"},
        "libraries": [{"internal_api": "openblas", "version": "0.3", "architecture": "SkylakeX"}],
        "environment": {"OMP_NUM_THREADS": "1"},
        "threads_proof": {"threads_ran": 1},
    }
    record["provenance"]["machine"] |= {"host": "a" * 16, "sockets": 1, "physical_cores": 2, "frequency_governor": None}
    record["clock"] = {"boot": "0" * 8, "seconds": 7.5}
    case = record["cases"][0]
    case |= {"errors": {"weights": 1e-6}, "parts": {"whole": 1.0}, "attempts": 1}
    case["energy_run"] = {"steps": 9, "seconds": 1.1, "joules": {"package-0": 3.5}}
    block = case["blocks"][0]
    block |= {"joules": {"package-0": 3.5}, "slept_seconds": 0.0, "part_seconds": [block["sample_seconds"]]}
    write_json(paths["record"], record)
    return paths


def add(path: Path, **facts: Any) -> None:
    write_json(path, json.loads(path.read_text()) | facts)


def odd_ones(good: Any) -> list[tuple[Way, Any]]:
    return [(way, value) for way in ways(good) for value in INSTEAD]


def is_used(kind: str, tables: Tables) -> bool:
    """Whether something of the file is in the tables."""
    match kind:
        case "record":
            return len(read_machine(False, "box").records) == ROUNDS
        case "description":
            return bool(tables)
        case "sheet":
            return bool(tables.reached)
    return bool(tables.learning)


def plan() -> None:
    """What a run would measure next."""
    config = replace(load_config(), profiles=("torch-1",), experiments=("rbm",))
    papers = load_papers(["raina2009"])
    work = make_work(config, papers, load_profiles(), "box", lambda profile: None)
    history, _ = read_history(work, lambda *place: "0" * 16)
    Plan(history).next_turn()
    history.session_probes("torch-1", "2026-01-01T00:00:00+00:00")


def show() -> Tables:
    tables = make_tables(False)
    json.dumps(gather_facts(tables, read_others(False, ["box"])), allow_nan=False)
    return tables


def left_out(kind: str, path: Path) -> str:
    """The line that says so; none where the file is used."""
    if kind == "record":
        found = read_machine(False, "box")
        return "" if path in found.records else next(line for line in found.lines if line)
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        read_machines_hardware("box", False, {})
    return said.getvalue()


def try_each(kind: str, path: Path, odd: list[tuple[Way, Any]], shown: int) -> Iterator[tuple[Way, Any]]:
    """Put each into the file; those with which it is used."""
    good = json.loads(path.read_text())
    for number, (way, value) in enumerate(odd):
        path.write_text(text_of(change(good, way, value)))
        with contextlib.redirect_stderr(io.StringIO()):
            if kind == "record" and path not in read_machine(False, "box").records:
                assert left_out(kind, path)
                continue
            if number % shown == 0:
                plan()
                show()
                build_tables(False)
        yield way, value


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_with_any_one_field_wrong_is_left_out_or_can_be_used(kind: str, box: dict[str, Path]) -> None:
    odd = odd_ones(json.loads(box[kind].read_text()))
    list(try_each(kind, box[kind], odd[::STRIDE], SHOWN))
