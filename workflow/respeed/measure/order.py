"""The order for a measuring process, complete: the process reads no other file."""

from typing import Annotated, Any

from pydantic import SkipValidation
from pydantic.dataclasses import dataclass

from respeed.inputs.machines import Profile
from respeed.model import Case
from respeed.protocol import TimingProtocol
from respeed.records import case_key


@dataclass(frozen=True)
class Asked:
    """A case that is asked for.

    `number` is the number of its round; `rehearsals` are tiny cases of the same workload; `guess` is how many seconds
    it may take.
    """

    case: Case
    number: int
    source: str
    rehearsals: tuple[Case, ...] = ()
    guess: float = 0.0

    @property
    def key(self) -> str:
        """Return the key of the case."""
        return case_key(self.case.workload, self.case.parameters)


@dataclass(frozen=True)
class Order:
    """Everything that the measuring process needs to know; it reads no other file.

    `cpus` are the CPUs that it is bound to; none means that it is not bound. `probes` are the row's probes in this
    session, in groups that are compared: a quiet probe shows only in comparison.
    """

    profile: Annotated[Profile, SkipValidation]
    threads: int
    cpus: tuple[int, ...]
    cases: tuple[Asked, ...]
    timing: TimingProtocol
    seed: int
    probes: dict[str, list[float]]


def untimed(asked: Asked, status: str, reason: str | None = None) -> dict[str, Any]:
    """Return the facts of a case for the record, before anything was timed."""
    return {
        "workload": asked.case.workload,
        "parameters": dict(asked.case.parameters),
        "number": asked.number,
        "source": asked.source,
        "status": status,
        "reason": reason,
        "errors": {},
        "blocks": [],
    }
