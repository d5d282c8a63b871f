"""The measuring process: reads the specifications of its rounds from standard input, writes a JSON line an event.

Run as `python -m respeed.measure.worker` by `respeed.measure.turn`. Imports numerical libraries only after it has bound
itself to its cores.
"""

import json
import sys
from typing import Any, TextIO

from respeed.errors import cannot_write, is_of_the_disk
from respeed.machine.environment import child_environment
from respeed.machine.process import bind, die_first_for_memory, die_with_parent, ignore_interrupts, private_stdout

# All that this process writes to a disk.
KERNELS = "what is kept of compiled kernels"


def process_options(threads: int, lock: tuple[int, ...]) -> dict[str, Any]:
    """How to start a process that computes on `threads` threads and keeps the machine's lock for as long as it does."""
    return {"env": child_environment(threads), "pass_fds": lock, "preexec_fn": ignore_interrupts, "text": True}


def main() -> None:
    """Measure the rounds that standard input describes, all of one profile."""
    events = private_stdout()
    die_with_parent()
    die_first_for_memory()
    try:
        _run(sys.stdin.read(), events)
    except OSError as error:
        if not is_of_the_disk(error):
            raise
        line = str(cannot_write(error.filename or KERNELS, error))
        events.write(json.dumps({"event": "refused", "line": line}) + "\n")


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
