"""Whatever one fact of a file is instead: the file is refused, or tables, figures and the report can be made of it."""

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from respeed.errors import UserError
from respeed.paths import description_path, hardware_path, learning_path, record_paths
from respeed.records.models import place_of
from respeed.records.store import write_json
from respeed.records.transfer import check_item
from respeed.report.facts import gather_facts
from respeed.tables.build import make_tables
from respeed.tables.others import read_others
from tests.bundle.carried import write_box
from tests.odd import MISSING, change, ways
from tests.sheets import hardware_sheet, no_gpu, write_sheet

MakeRecord = Callable[..., dict[str, Any]]
INSTEAD = (None, True, -1, 0, 1e300, 1e-300, 2**63, "", "x" * 600, "nan", [], [1], ["x"], {}, {"x": "y"}, MISSING)
# Of each file so many changes are tried, and of those that are accepted so many are looked at further.
CHANGED, SHOWN = 150, 12
MORE = {
    "cores": [{"socket": 0, "kind": None, "cores": "0,2 1,3"}], "core_kinds": {"performance": 2},
    "devices": {"cuda": 1, "mps": None}, "blas": "openblas", "frequency_governor": None,
}  # fmt: skip


@pytest.fixture
def box(make_record: MakeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """A machine with one file of every kind that tables are made of, each with all facts that it may have."""
    monkeypatch.chdir(tmp_path)
    write_box(make_record, profiles=("torch-1",), rounds=1)
    write_sheet(hardware_sheet(make_record, passes=1, gpu=True, absent=[no_gpu()]))
    found = {
        "record": record_paths(False)[0],
        "description": description_path("box", False),
        "sheet": hardware_path("box", False),
        "learning": learning_path("box", "raina2009", "rbm", False),
    }
    description, record = (json.loads(found[kind].read_text()) for kind in ("description", "record"))
    description["hardware"] |= MORE
    asked = {"asked": "0" * 16}
    description["profiles"] = {"torch-1": asked | {"threads": 1}, "gpu": asked | {"reason": "no CUDA device"}}
    write_json(found["description"], description)
    record["provenance"]["energy"] = {"reason": None, "update_seconds": {"package-0": 0.001}}
    record["cases"][0]["blocks"][0]["joules"] = {"package-0": 3.5}
    write_json(found["record"], record)
    return found


@pytest.mark.parametrize("kind", ["record", "description", "sheet", "learning"])
def test_a_file_with_one_odd_fact_is_refused_or_can_be_shown(kind: str, box: dict[str, Path]) -> None:
    path, good = box[kind], json.loads(box[kind].read_text())
    assert is_accepted(path, good)
    chance = random.Random(1)
    odd = chance.sample([(way, value) for way in ways(good) for value in INSTEAD], CHANGED)
    accepted = [changed for way, value in odd if is_accepted(path, changed := change(good, way, value))]
    assert 0 < len(accepted) < CHANGED / 2
    for one in accepted[:SHOWN]:
        write_json(path, one)
        show()


@pytest.mark.parametrize(
    ("kind", "where", "value"),
    [
        ("sheet", "memory.caches", "xyz"),
        ("sheet", "memory.accelerators", [1]),
        ("sheet", "memory.caches.L1", -1),
        ("sheet", "absent.0.cases", 7),
        ("sheet", "absent.0.cases.0.parameters", 7),
        ("sheet", "absent.0.reason", {}),
        ("sheet", "absent.0.profile.device", MISSING),
        ("sheet", "rounds.0.cases.5.parameters", {}),
        ("sheet", "rounds.0.cases.6.parameters.how", "fast"),
        ("sheet", "rounds.0.cases.0.case", "large"),
        ("sheet", "rounds.0.cases.4.flops", None),
        ("sheet", "rounds.0.id.whole", True),
        ("sheet", "digest", [1]),
        ("sheet", "wall_seconds", "long"),
        ("sheet", "provenance.machine.memory_bytes", "much"),
        ("description", "hardware.blas", [1]),
        ("description", "hardware.cores", [{"socket": 0}]),
        ("description", "hardware.cores.0.cores", "many"),
        ("description", "hardware.core_kinds", "P"),
        ("description", "hardware.devices.cuda", "one"),
        ("description", "profiles", [1]),
        ("description", "profiles.torch-1", {"asked": "0" * 16}),
        ("description", "profiles.torch-1.threads", "all"),
        ("description", "profiles.gpu.reason", ""),
        ("record", "provenance.energy.reason", {}),
        ("record", "provenance.energy.update_seconds", {}),
        ("record", "provenance.energy.update_seconds.package-0", 0),
        ("record", "provenance.machine.frequency_governor", {}),
        ("record", "cases.0.workload", "matmul"),
    ],
)
def test_what_later_commands_would_stop_at_is_refused(kind: str, where: str, value: Any, box: dict[str, Path]) -> None:
    good = json.loads(box[kind].read_text())
    if where == "cases.0.workload":
        good["cases"][0]["flops"] = None
    way = tuple(int(key) if key.isdigit() else key for key in where.split("."))
    assert is_accepted(box[kind], good)
    assert not is_accepted(box[kind], change(good, way, value))


def is_accepted(path: Path, data: Any) -> bool:
    place = place_of(path.relative_to("results").as_posix())
    assert place is not None
    try:
        check_item(place, json.dumps(data).encode(), False, "file")
    except UserError:
        return False
    return True


def show() -> None:
    """What is left out for being of another machine than its name's is right as well."""
    try:
        tables = make_tables(False)
    except UserError:
        return
    json.dumps(gather_facts(tables, read_others(False, ["box"])), allow_nan=False)
    assert tables.rates["value"].dropna().map(math.isfinite).all()
    assert isinstance(tables.learning, list)
