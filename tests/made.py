"""Records and descriptions of machines that tests make up; complete, so that a test says only what it is about."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from respeed.model import Case
from respeed.paths import records_folder
from respeed.protocol import Block
from respeed.records import SCHEMA, Backend, Record, Result, Row, Start, append_line, new_record

FIRST_DAY = "2026-01-01T00:00:00+00:00"
LATER = "2026-02-01T00:00:00+00:00"
# What a machine is, whole as a description or a record has it.
HARDWARE = {
    "cpu": "A CPU", "cpu_flags": [], "architecture": "x86_64", "physical_cores": 2, "usable_cores": 2,
    "core_cpus": None, "logical_cpus": 2, "cpu_quota": None, "frequency_governor": None,
    "memory_bytes": 2**34, "accelerators": [], "accelerator_driver": None, "blas": "openblas",
    "system": "Linux",
}  # fmt: skip
_numbers = count()
# Which facts are of which part of a record. Of names that two parts have, a row's are those of the row.
_PARTS = {
    "row": {*Row.model_fields},
    "backend": {*Backend.model_fields} - {*Row.model_fields, *Start.model_fields, "library"},
    "start": {*Start.model_fields} - {"backend", "machine"},
    "result": {*Result.model_fields},
    "block": {*Block.__dataclass_fields__} - {"device"},
}


def description(**facts: Any) -> dict[str, Any]:
    """What a machine's description says: its hardware with these facts, and what it cannot run."""
    cannot = facts.pop("not_measurable", {})
    return {"schema": SCHEMA, "hardware": HARDWARE | facts, "not_measurable": cannot}


def make_lines(
    seconds: Sequence[float] = (0.1, 0.1),
    *,
    profile: str = "torch-1",
    case: str | Case = "576x1024",
    number: int = 1,
    started: str = FIRST_DAY,
    probe: float = 1.0,
    peak: float = 1e13,
    library: str | None = "torch 2",
    settled: bool = True,
    blocks: Sequence[dict[str, Any]] = ({},),
    hardware: Mapping[str, Any] = HARDWARE,
    **facts: Any,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the two lines of a valid record of one case: its start and its result.

    `seconds` are the samples of each block, of one step each, and `blocks` what each block has of its own. A case is
    that of a paper, or one of an RBM by its units. Rounds start a minute after one another. Without a library, the
    process never came to its first case. `facts` are fields of Start, Row, Backend, Result or Block, by their names.
    """
    if isinstance(case, str):
        sizes = dict(zip(("visible", "hidden"), map(int, case.split("x")), strict=True))
        case = Case(case, "rbm", {"batch": 192, "learning_rate": 0.01} | sizes)
    own: dict[str, dict[str, Any]] = {
        part: {name: facts[name] for name in names & facts.keys()} for part, names in _PARTS.items()
    }
    assert not facts.keys() - set().union(*own.values()), f"no fact of a record: {facts}"
    is_timed = facts.get("status", "measured") == "measured"
    block = {
        "sample_steps": 1, "sample_seconds": [*seconds], "probe_seconds": [0.004 * probe] * 2,
        "run_delay_seconds": 0.0, "threads_ran": facts.get("threads", 1), "minor_faults": 0, "quota_seconds": 0.0,
        "throttled_seconds": None, "part_seconds": [], "joules": {}, "device": [],
    } | own["block"]  # fmt: skip
    row = {
        "name": profile, "label": f"label of {profile}", "package": "package", "architecture": "single-cpu",
        "backend": "torch", "device": "cpu", "threads": 1, "precision": "fp32",
    } | own["row"]  # fmt: skip
    moment = datetime.fromisoformat(started) + timedelta(minutes=number - 1)
    start = {
        "schema": SCHEMA, "smoke": False, "profile": row, "threads": 1, "seed": 1, "timing": {},
        "started": moment.isoformat(), "machine": HARDWARE | hardware, "commit": "unknown", "start_seconds": 1.0,
        "backend": {"package": library, "library": "MKL"} | own["backend"] if library else None,
        "energy": {"reason": "no counter"},
        "ceilings": {"flops_per_second": peak, "bytes_per_second": 1e10},
    } | own["start"]  # fmt: skip
    result = {
        "workload": case.workload, "parameters": dict(case.parameters), "number": number, "source": "0" * 16,
        "status": "measured", "reason": None, "flops": 1e9, "traffic_bytes": 1e6, "parts": {}, "errors": {},
        "warmup": {"settled": settled, "step_seconds": 0.1} if is_timed else None,
        "blocks": [block | one for one in blocks] if is_timed else [], "wall_seconds": 0.5,
    } | own["result"]  # fmt: skip
    return start, result


def make_record(seconds: Sequence[float] = (0.1, 0.1), *, machine: str = "box", **facts: Any) -> Record:
    """Return a record of one case, of what `make_lines` says."""
    return record_of(*make_lines(seconds, **facts), machine=machine)


def record_of(start: dict[str, Any], *results: dict[str, Any], machine: str = "box") -> Record:
    """Return the record that has these lines. Of two that were started at once, the first made is the first."""
    found = Start.model_validate_json(json.dumps(start))
    path = records_folder(found.smoke) / machine / found.profile.name / f"{next(_numbers):06}.jsonl"
    return Record(machine, path, found, tuple(Result.model_validate_json(json.dumps(one)) for one in results))


def write_lines(start: dict[str, Any], *results: dict[str, Any], machine: str = "box") -> None:
    """Write a record of these lines under the working directory."""
    path = new_record(machine, start["profile"]["name"], start["smoke"], start["started"])
    append_line(path, Start, start)
    for result in results:
        append_line(path, Result, result)


def write_machines(
    number: int, *, first: int = 0, rounds: int = 7, cases: Sequence[str] = ("576x1024",), **facts: Any
) -> None:
    """Write the records of machines box-00, box-01, ...: one table, one profile; 0.1 s a step, 0.2 s, ..."""
    for place in range(first, first + number):
        for index in range(1, rounds + 1):
            made = [make_lines([0.1 * (place + 1)] * 2, number=index, case=case, **facts) for case in cases]
            write_lines(made[0][0], *(result for _, result in made), machine=f"box-{place:02}")
