"""Whether facts fit one another, where each alone has its shape."""

import operator
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from respeed.protocol import Block
from respeed.records.layout import Kind, shown
from respeed.records.shape import misfit, reason
from respeed.records.shapes import CPU_STEPS, DEVICE_STEPS, GAUGED, LEAST_SECONDS

# What may disturb a block is told by these alone: one that an unknown fact speaks against must not count as clean.
_OF_BLOCKS = {field.name for field in fields(Block)}


def what_is_odd(kind: Kind, value: Mapping[str, Any]) -> str | None:
    """What of a file nothing can be derived from; None where all is right."""
    if case := _odd_case(kind, value):
        return f"the case {shown(case)} is not whole"
    if kind is Kind.SHEET and (others := _of_others(value)):
        return f"its rounds are of the machine {others}, or of another kind of run"
    if kind is Kind.LEARNING and not (value["programs"] or value.get("absent")):
        return "no program learned anything, and nothing says why"
    if kind is Kind.LEARNING and not _alike_pictures(value):
        return "the pictures of a program are of several sizes"
    return None


def _odd_case(kind: Kind, value: Mapping[str, Any]) -> str | None:
    if kind is Kind.RECORD:
        return _odd(value)
    if kind is not Kind.SHEET:
        return None
    odd = next((name for one in value["rounds"] if (name := _odd(one))), None)
    return odd or next((case["name"] for device, case in _gauged(value) if not _can_be_gauged(device, case)), None)


def _can_be_gauged(device: str, case: Mapping[str, Any]) -> bool:
    """Whether a table knows what the case of a sheet measures."""
    if misfit(case, GAUGED.get(case["workload"], {})):
        return False
    ways = CPU_STEPS if device == "cpu" else DEVICE_STEPS
    return case["workload"] != "small_step" or case["parameters"]["how"] in ways


def _of_others(sheet: Mapping[str, Any]) -> str | None:
    """The machine that a sheet's round says instead of the sheet's, or with another kind of run; None if none does."""
    own = (sheet["machine"], sheet["smoke"])
    ids = [one["id"] for one in sheet["rounds"]]
    return next((one["machine"] for one in ids if (one["machine"], one["smoke"]) != own), None)


def _gauged(sheet: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every case of a sheet, with its device."""
    for record in sheet["rounds"]:
        yield from ((record["profile"]["device"], {**case, "name": case["case"]}) for case in record["cases"])
    for one in sheet["absent"]:
        yield from ((one["profile"]["device"], case) for case in one["cases"])


def _odd(record: Mapping[str, Any]) -> str | None:
    energy = record["provenance"].get("energy")
    counts = energy is None or reason(energy["reason"]) or bool(energy["update_seconds"])
    seen: set[tuple[str, str]] = set()
    for case in record["cases"]:
        key = (case["case"], case["workload"])
        if not counts or key in seen or not _is_whole(case):
            return str(case["case"])
        seen.add(key)
    return None


def _is_whole(case: Mapping[str, Any]) -> bool:
    """Whether a case has times or a reason why not, each block as many samples of every part as of all, and
    each of these some time."""
    weights = list((case.get("parts") or {}).values())
    for block in case["blocks"]:
        if not block.keys() <= _OF_BLOCKS:
            return False
        samples = block.get("part_seconds") or []
        if len(samples) != len(weights) or any(len(part) != len(block["sample_seconds"]) for part in samples):
            return False
        # A step that takes no time has no speed.
        if weights and any(
            sum(map(operator.mul, weights, sample)) < LEAST_SECONDS for sample in zip(*samples, strict=True)
        ):
            return False
    if case["status"] != "measured":
        return reason(case["reason"])
    counted = {tuple(block["joules"]) for block in case["blocks"] if block.get("joules")}
    # A product is a measure of the machine as well: by its operations.
    is_counted = bool(case["flops"]) or case["workload"] != "matmul"
    return bool(case["blocks"]) and case["warmup"] is not None and is_counted and len(counted) < 2


def _alike_pictures(learning: Mapping[str, Any]) -> bool:
    """Whether the pictures of each program can stand side by side."""
    return all(
        len({(len(picture), len(row)) for picture in program["pictures"] for row in picture}) == 1
        for program in learning["programs"]
    )
