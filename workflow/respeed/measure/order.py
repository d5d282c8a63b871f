"""The order that the parent sends to a measuring process: which cases to measure, and how."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated

from pydantic import SkipValidation
from pydantic.dataclasses import dataclass

from respeed.inputs.machines import Profile
from respeed.machine.process import Facts
from respeed.model import Case
from respeed.protocol import TimingProtocol


@dataclass(frozen=True)
class Job:
    """A case that the process has to measure.

    `number` is the number of the case's round; `rehearsals` are tiny cases of the same workload, of which one is run
    first and not timed; `guess` is the expected time in seconds.
    """

    case: Case
    number: int
    source: str
    rehearsals: tuple[Case, ...] = ()
    guess: float = 0.0


@dataclass(frozen=True)
class Order:
    """All that the measuring process must know: it reads no configuration files.

    `cpus` are the CPUs that the process is bound to; if empty, it is not bound. `papers` has the folders of papers that
    were named by their paths.
    """

    profile: Annotated[Profile, SkipValidation]
    threads: int
    cpus: tuple[int, ...]
    cases: tuple[Job, ...]
    timing: TimingProtocol
    seed: int
    papers: Mapping[str, Path] = field(default_factory=dict)


def untimed(job: Job, status: str, reason: str | None = None) -> Facts:
    """Return the facts of a case, for the record, without any times."""
    return {
        "workload": job.case.workload,
        "parameters": dict(job.case.parameters),
        "number": job.number,
        "source": job.source,
        "status": status,
        "reason": reason,
        "errors": {},
        "blocks": [],
    }
