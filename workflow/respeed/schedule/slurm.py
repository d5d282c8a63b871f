"""What is asked of Slurm for a machine, as resources of Snakemake's rules, and what is told of a job that fails: what
Slurm says of it, and the last thing that the job itself said.

Snakemake's own account of it goes to its log: it is quiet about rules, and would say twenty lines a job.
"""

import logging
import math
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from respeed.inputs.machines import SlurmNode

# The Snakemake profile that sends jobs to Slurm.
PROFILE = "profiles/slurm"
# Of the job's minutes, those in which nothing is measured: its start, and the turn that takes longer than was thought.
SPARE_MINUTES = 3
# More often than it takes when all goes well, a machine's job is asked for again: nodes die, jobs are preempted.
SPARE_RETRIES = 3
# A job that only describes a machine, or lets programs learn for seconds.
SHORT_MINUTES = 15


def budget_seconds(node: SlurmNode) -> float:
    """How long a job may measure."""
    return 60.0 * (node.minutes - SPARE_MINUTES)


def jobs_needed(node: SlurmNode, seconds: float) -> int:
    """How many jobs it takes to measure for so long."""
    return max(1, math.ceil(seconds / budget_seconds(node)))


def resources(nodes: Mapping[str, SlurmNode], short: bool = False) -> dict[str, Callable[..., Any]]:
    """The resources of a job that runs on the machine of its wildcard, on a whole node: functions, as Snakemake takes
    them; none without nodes. None says nothing of a resource, and Slurm's own default holds."""

    def of(key: str) -> Callable[..., Any]:
        return lambda wildcards: _asked(nodes[wildcards.machine], short)[key]

    return {key: of(key) for key in _asked(SlurmNode(), short)} if nodes else {}


def _asked(node: SlurmNode, short: bool) -> dict[str, Any]:
    nodelist = [f"--nodelist={node.nodelist}"] if node.nodelist else []
    return {
        "slurm_partition": node.partition,
        "slurm_account": node.account,
        "constraint": node.constraint,
        "gres": node.gres,
        # A negative number asks for none: of a whole node, the job then has all.
        "cpus_per_task": node.cpus or -1,
        # None is not allowed here; 0 asks for none as well.
        "mem_mb": math.ceil(1024 * (node.memory_gb or 0)),
        "runtime": min(node.minutes, SHORT_MINUTES) if short else node.minutes,
        "nodes": 1,
        "slurm_extra": shlex.join(["--exclusive", *nodelist]),
    }


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
