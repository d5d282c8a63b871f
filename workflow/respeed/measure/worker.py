"""The measuring process: reads the specifications of its rounds from standard input, writes a JSON line an event.

Run as `python -m respeed.measure.worker` by `respeed.measure.turn`, which sets its environment. Imports numerical
libraries only after it has bound itself to its cores.
"""

import json
import sys
from typing import Any, TextIO

from respeed.errors import refusal_anywhere
from respeed.machine.process import bind, die_first_for_memory, die_with_parent, private_stdout
from respeed.model.paper import Case

# All that this process writes to a disk.
KERNELS = "what is kept of compiled kernels"


def untimed(case: Case, status: str, reason: str | None = None) -> dict[str, Any]:
    """The facts of a case for the record, as long as nothing was timed."""
    return {
        "case": case.name,
        "workload": case.workload,
        "parameters": dict(case.parameters),
        "flops": None,
        "traffic_bytes": None,
        "memory_bytes": None,
        "parts": {},
        "status": status,
        "reason": reason,
        "errors": {},
        "tolerance": None,
        "warmup": None,
        "blocks": [],
        "wall_seconds": 0.0,
    }


def main() -> None:
    """Measure the rounds that standard input describes, all of one profile."""
    events = private_stdout()
    die_with_parent()
    die_first_for_memory()
    try:
        _run(sys.stdin.read(), events)
    except OSError as error:
        if (line := refusal_anywhere(error, KERNELS)) is None:
            raise
        events.write(json.dumps({"event": "refused", "line": str(line)}) + "\n")


def _run(text: str, events: TextIO) -> None:
    from respeed.schedule.spec import order_from_json

    if not text.endswith("}"):  # whoever started this process was stopped before it had said what to measure
        return
    specs, probes = order_from_json(text)
    bind(specs[0].cpus)

    from respeed.measure.case import measure_rounds

    def emit(event: str, **facts: Any) -> None:
        events.write(json.dumps({"event": event, **facts}, allow_nan=False) + "\n")
        events.flush()

    measure_rounds(specs, probes, emit)


if __name__ == "__main__":
    main()
