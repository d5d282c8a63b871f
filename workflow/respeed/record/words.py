"""The words of a record that something is looked up by: names, an architecture, a time."""

import re
from datetime import datetime
from typing import Any

from respeed.model.errors import UserError
from respeed.model.names import check_name
from respeed.model.published import ARCHITECTURES

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T")


def check_words(record: dict[str, Any], where: str) -> None:
    """UserError, which begins with `where`, for the first that is none."""
    for kind in ("machine", "paper", "experiment", "profile"):
        check_name(kind, str(record["id"][kind]), where)
    for case in record["cases"]:
        check_name("case", str(case["case"]), where)
        check_name("workload", str(case["workload"]), where)
    architecture = record["profile"]["architecture"]
    if architecture not in ARCHITECTURES:
        raise UserError(f"{where}: the architecture {architecture!r} is none of {', '.join(ARCHITECTURES)}; delete it")
    if not _is_time(record["started"]):
        raise UserError(f"{where}: started at {record['started']!r}, which is no time with its zone; delete it")


def _is_time(text: Any) -> bool:
    try:
        return bool(_TIME.match(text)) and datetime.fromisoformat(text).tzinfo is not None
    except (TypeError, ValueError):
        return False
