"""What Snakemake would say in many lines of its own, in a line of ours: a job on a cluster that fails (what Slurm says
of it, and the last thing that the job itself said), and outputs that cannot be written.
"""

import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

from respeed.records.folder import check_own
from respeed.schedule.workflow import giving_up


def tell_failed_jobs(logger: logging.Logger) -> None:
    """From now on. `logger` is Snakemake's."""
    logger.addHandler(_Told())


class _Told(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        event = getattr(getattr(record, "event", None), "value", "")
        # Only who submits jobs gives a reason; a job here has said its own on the screen.
        if event == "job_error" and (reason := getattr(record, "rule_msg", None)):
            made, logs = getattr(record, "output", []), getattr(record, "log", [])
            print("\n".join(failure(reason, made, logs)), file=sys.stderr, flush=True)


def tell_what_cannot_be_written(logger: logging.Logger, room: Callable[[], None]) -> None:
    """From now on, also in a dry run. `room` raises UserError where a folder is not this user's to write in."""
    logger.addFilter(lambda record: _not_protected(record, room))


def _not_protected(record: logging.LogRecord, room: Callable[[], None]) -> bool:
    if getattr(record, "exception", None) != "ProtectedOutputException":
        return True
    with giving_up():
        room()
        for path in record.getMessage().replace(",", " ").split():
            if os.path.lexists(path):
                check_own(Path(path))
    return True


def failure(reason: str, made: list[str], logs: list[str]) -> list[str]:
    """The lines for people: `made` are the files that the job would have made, `logs` its own log and then Slurm's."""
    _, refused, why = reason.partition("SLURM sbatch failed. The error message was '")
    if refused:
        return [f"respeed: no {', '.join(made)}: Slurm refused the job: {why.splitlines()[0]}"]
    lines = [f"respeed: no {', '.join(made)}: {reason.splitlines()[0].partition(' Detailed failure reason')[0]}"]
    if logs and (said := _last_line(Path(logs[0]))):
        lines.append(f"  the job said last: {said.removeprefix('respeed: ')} ({', '.join(logs)})")
    return lines


def _last_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
    except OSError:
        return ""
