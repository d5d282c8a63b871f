"""Whether facts fit one another, where each alone has its shape."""

from collections.abc import Iterator, Mapping
from typing import Any

from respeed.bundle.layout import Kind
from respeed.bundle.shape import misfit, reason
from respeed.bundle.shapes import GAUGED


def odd_case(kind: Kind, value: Mapping[str, Any]) -> str | None:
    """The first case of a record or a hardware sheet that nothing can be derived from; None where all are right."""
    if kind is Kind.RECORD:
        return _odd(value)
    if kind is not Kind.SHEET:
        return None
    odd = next((name for one in value["rounds"] if (name := _odd(one))), None)
    return odd or next(
        (case["name"] for case in _gauged(value) if misfit(case, GAUGED.get(case["workload"], {}))), None
    )


def _gauged(sheet: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for record in sheet["rounds"]:
        yield from ({**case, "name": case["case"]} for case in record["cases"])
    for one in sheet["absent"]:
        yield from one["cases"]


def _odd(record: Mapping[str, Any]) -> str | None:
    energy = record["provenance"].get("energy")
    counts = energy is None or reason(energy["reason"]) or bool(energy["update_seconds"])
    return next((case["case"] for case in record["cases"] if not (counts and _is_whole(case))), None)


def _is_whole(case: Mapping[str, Any]) -> bool:
    """Whether a case has times or a reason why not, and each block as many samples of every part as of all."""
    parts = len(case.get("parts") or {})
    for block in case["blocks"]:
        samples = block.get("part_seconds") or []
        if len(samples) != parts or any(len(part) != len(block["sample_seconds"]) for part in samples):
            return False
    if case["status"] != "measured":
        return reason(case["reason"])
    counted = {tuple(block["joules"]) for block in case["blocks"] if block.get("joules")}
    # A product is a measure of the machine as well: by its operations.
    is_counted = bool(case["flops"]) or case["workload"] != "matmul"
    return bool(case["blocks"]) and is_counted and len(counted) < 2


def alike_pictures(learning: Mapping[str, Any]) -> bool:
    """Whether the pictures of each program can stand side by side."""
    return all(
        len({(len(picture), len(row)) for picture in program["pictures"] for row in picture}) == 1
        for program in learning["programs"]
    )
