"""The rounds to measure, in the order in which they take turns."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from respeed.load.modules import runs
from respeed.model.config import Config
from respeed.model.paper import Experiment, Paper
from respeed.model.profile import Profile
from respeed.model.round import RoundId
from respeed.plan.availability import why_not

Item = TypeVar("Item")


def plan_rounds(
    config: Config, papers: Mapping[str, Paper], profiles: Mapping[str, Profile], machine: str
) -> list[RoundId]:
    """All rounds that the configuration asks of this machine, in order.

    Round 1 of everything comes before round 2 of anything. Within a round the profiles take turns in random order, and
    each measures its experiments in another random order, the same for all: between two profiles' turns at the same
    experiment lies one turn, and drift of the machine hits them alike. The order depends on nothing but the seed.
    """
    runnable = [name for name in config.profiles if why_not(profiles[name]) is None]
    experiments = [(paper, name) for paper in config.papers for name in chosen_experiments(config, papers[paper])]
    smoke = config.preset.is_smoke
    planned = []
    for index in range(1, config.preset.rounds + 1):
        order = _shuffled(experiments, f"{config.seed}/{index}")
        for profile in _shuffled(runnable, f"{config.seed}/{index}/profiles"):
            for paper, experiment in order:
                if _able([profile], profiles, papers[paper].experiments[experiment]):
                    planned.append(RoundId(machine, paper, experiment, profile, index, smoke=smoke))
    if config.preset.whole:
        for paper, experiment in experiments:
            if papers[paper].experiments[experiment].examples:
                able = _able(runnable, profiles, papers[paper].experiments[experiment])
                planned += [RoundId(machine, paper, experiment, profile, 1, whole=True) for profile in able]
    return planned


@dataclass(frozen=True)
class Turn:
    """What one process measures: one profile's rounds of the same number, or one whole run."""

    rounds: tuple[RoundId, ...]

    @property
    def name(self) -> str:
        """A name for people to read, fit for a rule and a file: torch-1-round-01."""
        first = self.rounds[0]
        return (
            f"{first.profile}-whole-{first.experiment}" if first.whole else f"{first.profile}-round-{first.index:02d}"
        )


def group_turns(rounds: Iterable[RoundId]) -> list[Turn]:
    """The turns that measure these rounds, in their order."""

    def turn(one: RoundId) -> tuple[object, ...]:
        return one.profile, one.index, (one.paper, one.experiment) if one.whole else None

    return [Turn(tuple(group)) for _, group in groupby(rounds, key=turn)]


def _able(names: list[str], profiles: Mapping[str, Profile], experiment: Experiment) -> list[str]:
    """Those whose backend runs a case of the experiment at all, in their precision."""
    workloads = {case.workload for case in experiment.cases}
    kinds = {name: (profiles[name].backend, profiles[name].precision) for name in names}
    return [name for name in names if any(runs(workload, *kinds[name]) for workload in workloads)]


def chosen_experiments(config: Config, paper: Paper) -> list[str]:
    """Names of the paper's experiments that the configuration selects."""
    return [name for name in paper.experiments if config.experiments is None or name in config.experiments]


def _shuffled(items: list[Item], seed: str) -> list[Item]:
    return random.Random(seed).sample(items, len(items))
