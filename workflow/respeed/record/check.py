"""Is it a whole record? Checked wherever one is read: from a file of ours, or from one that somebody sent."""

import math
from typing import Any

from respeed.model.block import Block
from respeed.model.errors import UserError
from respeed.record.texts import printable_texts
from respeed.record.words import check_words

SCHEMA = 3
_KEYS = (
    "id", "profile", "provenance", "threads", "digest", "started", "wall_seconds", "start_seconds", "timing",
    "ceilings",
)  # fmt: skip


def check_record(record: Any, where: str) -> dict[str, Any]:
    """The record, its texts made printable, if statistics can rest on it: its form is right and every time a positive
    number. UserError, which begins with `where`, if not."""
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        found = record.get("schema") if isinstance(record, dict) else None
        raise UserError(
            f"{where}: has record schema {found!r}, this version reads {SCHEMA}; update respeed or delete it"
        )
    try:
        times = [time for case in record["cases"] for block in case["blocks"] for time in block["sample_seconds"]]
        if not all(isinstance(time, float) and math.isfinite(time) and time > 0 for time in times):
            raise UserError(
                f"{where}: holds a time that is not greater than 0; run again to measure it anew, or delete it"
            )
        for key in _KEYS:
            record[key]
        record["cases"][0]
        check_words(record, where)
        if energy := record["provenance"].get("energy"):
            energy["reason"]
            _check_energy([*energy["update_seconds"].values()], where)
        for case in record["cases"]:
            case["status"], case["reason"], case["parameters"], case["flops"], case["wall_seconds"]
            blocks = [Block(**block) for block in case["blocks"]]
            _check_energy([used for block in blocks for used in block.joules.values()], where)
            if "energy_run" in case:
                _check_energy_run(case["energy_run"], where)
            if case["status"] == "measured":
                case["warmup"]["settled"], case["warmup"]["step_seconds"]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise UserError(
            f"{where}: is not a whole record ({error!r}); run again to measure it anew, or delete it"
        ) from None
    return dict(printable_texts(record))


def _check_energy(numbers: list[Any], where: str) -> None:
    if not all(isinstance(number, float) and math.isfinite(number) and number >= 0 for number in numbers):
        raise UserError(f"{where}: holds an energy that is no number; run again to measure it anew, or delete it")


def _check_energy_run(run: dict[str, Any], where: str) -> None:
    """Steps, seconds and joules are there, and joules of a step can be told from them."""
    _check_energy([*run["joules"].values(), run["seconds"]], where)
    if not (isinstance(run["steps"], int) and run["steps"] > 0 and run["seconds"] > 0):
        raise UserError(
            f"{where}: holds a run for energy without steps or time; run again to measure it anew, or delete it"
        )
