"""A record is lines: what is read is what was written, however it was cut or changed meanwhile."""

import json
import math
import re
import resource
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.machine import FIELDS, difference, hardware_digits
from respeed.model import Case
from respeed.paths import records_folder
from respeed.records import (
    Facts,
    Result,
    Start,
    append_line,
    is_file_of_machine,
    new_record,
    parse_file,
    read_description,
    read_machines,
    record_paths,
    recorded_machines,
    write_description,
)
from tests.made import FIRST_DAY, HARDWARE, description, make_lines, write_lines
from tests.records.conftest import write_box

PLACE = Path("box/torch-1/20260101T000000Z-abcd.jsonl")
START, RESULT = make_lines()
WHOLE = b"".join(
    json.dumps(line).encode() + b"\n" for line in (START, *(RESULT | {"number": number} for number in (1, 2, 3)))
)


def read(data: bytes) -> tuple[list[int], list[str]]:
    """The numbers of the results that are read, and what is said of the other lines."""
    record, skipped = parse_file("box", PLACE, data, False, "here")
    return [result.number for result in record.results], skipped


@given(st.integers(0, len(WHOLE)))
def test_a_cut_record_reads_until_the_cut(length: int) -> None:
    """A record cut at any byte reads as the lines before the cut."""
    lines = WHOLE[:length].count(b"\n")
    try:
        assert read(WHOLE[:length]) == ([*range(1, max(lines, 1))], [])
    except UserError as error:
        assert not lines, error  # noqa: PT017
        assert re.fullmatch(r"here:1: is damaged \([^\n]*\)", str(error))  # noqa: PT017


def test_the_path_says_whose_record_it_is() -> None:
    path = new_record("a-box", "gpu_2", True, FIRST_DAY).relative_to(records_folder(True))
    record, _ = parse_file(
        "a-box", path, json.dumps(make_lines(profile="gpu_2", smoke=True)[0]).encode() + b"\n", True, "here"
    )
    assert (is_file_of_machine(path), record.machine, record.profile) == (True, "a-box", "gpu_2")
    assert not is_file_of_machine(Path("A", *path.parts[1:])) | is_file_of_machine(Path("a", "A", path.name))


def test_what_a_line_omits_has_its_default() -> None:
    for model in Facts.__subclasses__():
        others = [(name, field) for name, field in model.model_fields.items() if not field.is_required()]
        found = {name: field.get_default(call_default_factory=True) for name, field in others}
        assert {name: value for name, value in found.items() if value} == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"schema": 4}', "has schema 4, this version of respeed reads 6"),
        ('{"schema": 6, more}', "is damaged"),
        (json.dumps(START | {"timing": {"long_seconds": math.inf}}), "timing.long_seconds: Input should be a finite"),
        (json.dumps(START | {"start_seconds": 1e9}), "start_seconds: Input should be less"),
        (json.dumps(START | {"machine": START["machine"] | {"cpu_quota": -1.0}}), "machine.cpu_quota: Input should"),
        (json.dumps(START | {"commit": "$(curl evil | sh)"}), "commit: String should match pattern"),
        (json.dumps(START | {"ceilings": {"flops_per_second": 0}}), "ceilings.flops_per_second: Input should be great"),
        (json.dumps(START | {"smoke": True}), "is a smoke record of the profile torch-1, and does not belong here"),
        (json.dumps(START | {"profile": START["profile"] | {"name": "gpu"}}),
         "is a real record of the profile gpu, and does not belong here"),
        (json.dumps(START | {"backend": None}) + "\n" + json.dumps(RESULT), "backend is missing, and a case was meas"),
    ],
)  # fmt: skip
def test_an_impossible_record_is_refused_with_reason(text: str, why: str) -> None:
    with pytest.raises(UserError, match=f"^here(:1)?: {why}"):
        parse_file("box", PLACE, f"{text}\n".encode(), False, "here")


def test_a_replays_line_is_no_result() -> None:
    """It is counted as a line, wherever it is, and one that is damaged is skipped alone."""
    replay = {"replay": RESULT["workload"], "parameters": RESULT["parameters"], "kernels": 17, "busy_share": 0.5}
    lines = (START, RESULT, replay, replay | {"busy_share": 2.0}, RESULT | {"number": 2})
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    record, skipped = parse_file("box", PLACE, data, False, "here")
    assert [replay.kernels for replay in record.replays] == [17]
    assert skipped == ["here:4: busy_share: Input should be less than or equal to 1"]
    assert {place: result.number for place, result in record.places().items()} == {"here:2": 1, "here:5": 2}


def test_a_records_text_is_one_printable_line() -> None:
    """A text of a record is one line of what can be printed."""
    hostile = START | {"versions": {"torch": "1\u202e" + " " * 90 + "Commit  good\u3164", "long": "x" * 9000}}
    record, _ = parse_file("box", PLACE, f"{json.dumps(hostile)}\n".encode(), False, "here")
    assert record.start.versions == {"torch": "1 Commit good", "long": "x" * 499 + "…"}


def test_a_reason_with_half_a_letter_survives() -> None:
    """As of a file whose name is in another encoding."""
    made = make_lines(status="failed", reason="no file a\udcffb", number=1)[1]
    assert append_line(PLACE, Result, made).reason == "no file a?b"
    assert json.loads(PLACE.read_text("utf-8"))["reason"] == "no file a?b"


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ({"flops": 0.5}, "flops: Value error, a part of an operation would lie at the end of no axis"),
        ({"flops": 1e300}, "flops: Input should be less than or equal to"),
        ({"case": Case("a", "rbm", {"x": [[], []]}), "flops": None}, "parameters.x"),
        ({"blocks": []}, "the case is incomplete"),
        ({"case": Case("a product", "matmul", {}), "flops": None}, "the case is incomplete"),
        ({"status": "failed"}, "the case is incomplete"),
        ({"blocks": [{"part_seconds": [[0.1, 0.1]]}]}, "the case is incomplete"),
        ({"blocks": [{"joules": {"a": 1.0}}, {"joules": {"b": 1.0}}]}, "the case is incomplete"),
    ],
)
def test_a_case_without_facts_is_not_written(facts: dict[str, Any], line: str) -> None:
    """A case that nothing could be made of is not written."""
    with pytest.raises(UserError, match=re.escape(line)):
        append_line(PLACE, Result, make_lines(**facts)[1])
    assert not PLACE.exists()


@pytest.mark.parametrize("is_there", [False, True])
def test_a_refused_line_leaves_the_record(is_there: bool) -> None:
    """A line that the disk refuses leaves the record as it was."""
    path = Path("results/records") / PLACE
    if is_there:
        append_line(path, Start, START)
    kept = path.read_bytes() if is_there else b""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(kept) + 9000, limits[1]))
    try:
        with pytest.raises(UserError, match="cannot be written: File too large"):
            append_line(path, Result, RESULT | {"more": ["x" * 400] * 30})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (path.read_bytes() if path.exists() else b"") == kept
    assert path.exists() == is_there


@pytest.mark.parametrize(
    "spoilt", [b"\xff{", b"{}", json.dumps(description(not_measurable={"tpu": " "})).encode()], ids=range(3)
)
def test_a_damaged_description_is_written_anew(spoilt: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    """A description that is damaged is said once and written anew."""
    path = Path("results/records/box/machine.json")
    write_box()
    path.write_bytes(spoilt)
    assert recorded_machines(False) == {"box": 2}
    for _ in range(2):
        assert read_description("box", False) is None
    assert capsys.readouterr().err.count(f"respeed: skipped: {path}: ") == 1
    write_description("box", False, description())
    assert read_description("box", False).hardware.cpu == "A CPU"
    written = path.stat().st_mtime_ns
    write_description("box", False, description())
    assert path.stat().st_mtime_ns == written


def test_no_usable_record_is_one_line() -> None:
    for what in ("none of 1 record", "none of 2 records"):
        write_lines(*make_lines())
        for path in record_paths(False, "box"):
            path.write_bytes(b"{")
        with pytest.raises(UserError, match=f"results: {what} can be used; the lines above say why"):
            list(read_machines(False))
    write_box("other")
    assert {machine: len(records) for machine, records in read_machines(False)} == {"box": 0, "other": 2}


OTHER = {
    "cpu": "Another CPU", "physical_cores": 4, "usable_cores": 4, "cpu_flags": ["avx2"],
    "memory_bytes": 2**35, "accelerators": ["a GPU"], "host": "b" * 16,
}  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_of_the_hardware_tells_machines_apart(field: str) -> None:
    here = HARDWARE | {"host": "a" * 16}
    assert difference(here, here | {"memory_bytes": int(0.99 * 2**34)}) is None
    assert difference(here | {field: OTHER[field]}, here)
    # A host that is not known is another than one that is: nobody passes for this machine by saying less.
    without = {key: value for key, value in here.items() if key != field}
    assert (difference(without, here) is None) == (field != "host")
    assert difference(without, without) is None
    # What a kernel leaves of the memory differs from boot to boot, and must change no name.
    assert (hardware_digits(here | {field: OTHER[field]}) == hardware_digits(here)) == (field == "memory_bytes")
