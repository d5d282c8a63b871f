"""What a configuration asks of a machine: the cells to measure, how often, and for how long."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from respeed.analysis.rounds import CellKey
from respeed.inputs.config import Config, Preset
from respeed.inputs.profiles import Profile
from respeed.inputs.registry import runs
from respeed.model.paper import Experiment, Paper
from respeed.schedule.availability import why_not


@dataclass(frozen=True)
class Work:
    """`cells` are all that are to be measured, under the experiments that measure them. `wholes` are the (paper,
    experiment, profile) that are also to be run whole."""

    machine: str
    preset: Preset
    seed: int
    papers: Mapping[str, Paper]
    cells: tuple[CellKey, ...]
    wholes: tuple[tuple[str, str, str], ...]

    @property
    def smoke(self) -> bool:
        return self.preset.is_smoke

    @property
    def seconds(self) -> float:
        """What the preset has for measuring in all: its minutes are those of one paper."""
        return 60 * self.preset.minutes * len({cell.paper for cell in self.cells})

    @property
    def profiles(self) -> list[str]:
        return list(dict.fromkeys(cell.profile for cell in self.cells))

    def experiment(self, cell: CellKey) -> Experiment:
        return self.papers[cell.paper].experiments[cell.experiment]


def make_work(
    config: Config,
    papers: Mapping[str, Paper],
    profiles: Mapping[str, Profile],
    machine: str,
    reason: Callable[[Profile], str | None] | None = None,
) -> Work:
    """Resolve the configuration to cells. A case that is taken from another experiment is measured there, once.
    `reason` says of a profile why the machine cannot run it, by default of this machine."""
    runnable = [profiles[name] for name in config.profiles if (reason or why_not)(profiles[name]) is None]
    cells: dict[CellKey, None] = {}
    wholes: dict[tuple[str, str, str], None] = {}
    for paper in (papers[name] for name in config.papers):
        for name in chosen_experiments(config, paper):
            experiment = paper.experiments[name]
            for profile in runnable:
                found = _cells(paper, experiment, profile, machine, config.preset.is_smoke)
                cells |= dict.fromkeys(found)
                if config.preset.whole and experiment.is_extrapolated:
                    wholes |= {(paper.name, cell.experiment, profile.name): None for cell in found}
    return Work(machine, config.preset, config.seed, papers, tuple(cells), tuple(wholes))


def _cells(paper: Paper, experiment: Experiment, profile: Profile, machine: str, smoke: bool) -> list[CellKey]:
    return [
        CellKey(machine, paper.name, experiment.source(case.name), case.name, case.workload, profile.name)
        for case in (experiment.smoke_cases if smoke else experiment.cases)
        if runs(case.workload, profile.backend, profile.precision)
        and experiment.runs_on(case.workload, profile.architecture)
    ]


def chosen_experiments(config: Config, paper: Paper) -> list[str]:
    """Names of the paper's experiments that the configuration selects."""
    return [name for name in paper.experiments if config.experiments is None or name in config.experiments]


def by_experiment(cells: Collection[CellKey]) -> dict[tuple[str, str], list[CellKey]]:
    """The cells of each (paper, experiment)."""
    groups: dict[tuple[str, str], list[CellKey]] = {}
    for cell in cells:
        groups.setdefault((cell.paper, cell.experiment), []).append(cell)
    return groups
