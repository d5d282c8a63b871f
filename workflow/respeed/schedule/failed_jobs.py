"""A job on a cluster that fails: what Slurm says of it, and the last thing that the job itself said, in a line each.

Snakemake's own account of it goes to its log: it is quiet about rules, and would say twenty lines a job.
"""

import logging
import sys
from pathlib import Path


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
