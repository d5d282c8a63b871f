"""What a round says of the energy of a step: from its clean blocks, where the counters are fast enough for them."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from respeed.estimators.intervals import Estimate, estimate_location
from respeed.machine.energy import FEWEST_UPDATES
from respeed.protocol import Block

OLDER = "the records were made before energy was read"


@dataclass(frozen=True)
class RoundEnergy:
    """Joules a step, of all domains together, and the watts that they are over the time of the steps."""

    joules: float
    watts: float
    domains: tuple[str, ...]


@dataclass
class CellEnergy:
    """Of one cell: the rounds that tell its energy, by number, and why the last one that does not does not."""

    rounds: dict[int, RoundEnergy] = field(default_factory=dict)
    reason: str = ""

    def add(self, index: int, found: RoundEnergy | str) -> None:
        """A round's energy, or why it has none."""
        if isinstance(found, str):
            self.reason = found
        else:
            self.rounds[index] = found

    def alike(self) -> list[RoundEnergy]:
        """The rounds that counted the same domains as the last one: others are of something else."""
        found = list(self.rounds.values())
        return [one for one in found if one.domains == found[-1].domains]

    def joules(self) -> Estimate | None:
        """A step's, over rounds; None where no round tells."""
        found = [one.joules for one in self.alike()]
        return estimate_location(found) if found else None

    def watts(self) -> float | None:
        return statistics.median(one.watts for one in self.alike()) if self.rounds else None


def energy_of_round(
    clean: Sequence[Block],
    weights: Mapping[str, float],
    told: Mapping[str, Any] | None,
    run: Mapping[str, Any] | None = None,
) -> RoundEnergy | str:
    """What the clean blocks of a case say, or why they say nothing. `told` is what the record says of its counters,
    `weights` how often each part of a step counts in one. Where blocks are too short for the counters, the `run` after
    them speaks, if the case had one."""
    if told is None:
        return OLDER
    if told["reason"]:
        return str(told["reason"])
    if any(weight != 1 for weight in weights.values()):
        return "some parts of a step count more often than others, and the energy of each part is not known"
    slowest = max(told["update_seconds"], key=lambda domain: told["update_seconds"][domain])
    least = FEWEST_UPDATES * told["update_seconds"][slowest]
    blocks = [block for block in clean if block.seconds >= least]
    if not blocks and run and run["seconds"] >= least:
        return _round_energy(run["joules"], run["steps"], run["seconds"])
    if not blocks:
        return f"blocks are shorter than {FEWEST_UPDATES} updates of the counter of {slowest}"
    counted = [block for block in blocks if block.joules]
    if not counted:
        return "in no block do the counters tell: set back, gone round unseen, or of one device of several"
    joules = {name: math.fsum(block.joules[name] for block in counted) for name in counted[0].joules}
    return _round_energy(joules, sum(block.steps for block in counted), math.fsum(block.seconds for block in counted))


def _round_energy(by_domain: Mapping[str, float], steps: int, seconds: float) -> RoundEnergy | str:
    joules = math.fsum(by_domain.values())
    if not joules:
        return "the counters stood still"
    return RoundEnergy(joules / steps, joules / seconds, tuple(by_domain))
