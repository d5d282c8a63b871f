"""A round: one fresh process that measures every case of one experiment on one hardware profile."""

from dataclasses import dataclass

from respeed.model.paper import Case
from respeed.model.profile import Profile
from respeed.paths import RoundId
from respeed.protocol import TimingProtocol


@dataclass(frozen=True)
class RoundSpec:
    """Everything that the measuring process needs to know; it reads no file but this, as JSON.

    `cpus` are those that the measurement is bound to; none means that it is not bound. `digest` is a checksum of what
    decides the measurement of the experiment, of which `cases` may be a part. `rehearsals` are tiny cases of
    the same workloads, to load by them what a first step loads.
    """

    id: RoundId
    profile: Profile
    threads: int
    cpus: tuple[int, ...]
    cases: tuple[Case, ...]
    whole_steps: tuple[int, ...]
    timing: TimingProtocol
    seed: int
    digest: str
    rehearsals: tuple[Case, ...] = ()
