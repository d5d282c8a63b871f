"""What is asked of Slurm for a machine, as resources of Snakemake's rules."""

import math
import shlex
from collections.abc import Callable, Mapping
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
