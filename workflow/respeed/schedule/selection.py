"""What is asked for: which papers, profiles and machines a run is about, and the cells that it measures."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.rounds import CellKey
from respeed.inputs.config import Config, Preset, load_config, why_denied
from respeed.inputs.machines import MACHINE_FILES, Told
from respeed.inputs.papers import PAPER_FILES, load_papers, paper_names
from respeed.inputs.profiles import PROFILE_FILES, Profile
from respeed.machine.description import machine_slug
from respeed.model.paper import Paper
from respeed.records.store import recorded_machines, recorded_papers
from respeed.schedule.availability import why_not
from respeed.schedule.spec import cases_of

# Beyond so many machines, a reader wants one in full and to know where it stands among the others.
FEW = 4


def papers_shown(smoke: bool, chosen: Collection[str] | None = None, *, strict: bool = False) -> dict[str, Paper]:
    """Return the `chosen` papers, by default those of config.yaml, and then every other that there are records of.

    One that is not valid is left out with a line. UserError if none is left, if there is none of a chosen name, or,
    where it is `strict`, if one of those that were chosen is not valid.
    """
    names, known = load_config().papers if chosen is None else tuple(chosen), paper_names()
    every = dict.fromkeys([*names, *(name for name in recorded_papers(smoke) if name in known)])
    papers = PAPER_FILES.load_right(every, [name for name in names if strict or name not in known])
    return papers or load_papers(names)


def profiles_shown(chosen: Collection[str] = ()) -> dict[str, Profile]:
    """Return all whose files are right. UserError if one that was `chosen` is not; another is left out with a line."""
    return PROFILE_FILES.load_right(chosen=chosen)


def told_shown() -> dict[str, Told]:
    """Return what is told of machines, by machine; a file that is not right is left out with a line."""
    return MACHINE_FILES.load_right()


def machines_in_full(smoke: bool, machine: str | None = None) -> list[str]:
    """The names of the machines to show in full, of those that have records.

    As long as there are few, these are all of them. Where there are many, it is one: `machine`, by default this one, or
    if that has no records, the one that has most.
    """
    return choose_in_full(recorded_machines(smoke), machine or load_config().machine or machine_slug())


def choose_in_full(there: Mapping[str, int], machine: str) -> list[str]:
    """The same of machines with their numbers of records, in the order of their names."""
    if len(there) <= FEW:
        return sorted(there)
    return [machine if machine in there else max(sorted(there), key=lambda name: there[name])]


@dataclass(frozen=True)
class Work:
    """`cells` are all that are to be measured, under the experiments that measure them. A table of the cells `first`
    comes before all else. Of those that are `spare`, a row's together, so many are measured as the preset's minutes are
    enough for."""

    machine: str
    preset: Preset
    seed: int
    papers: Mapping[str, Paper]
    cells: tuple[CellKey, ...]
    first: tuple[CellKey, ...] = ()
    spare: tuple[tuple[CellKey, ...], ...] = ()

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


def make_work(
    config: Config,
    papers: Mapping[str, Paper],
    profiles: Mapping[str, Profile],
    machine: str,
    reason: Callable[[Profile], str | None] | None = None,
) -> Work:
    """Resolve the configuration to cells. A case that is taken from another experiment is measured there, once. Where
    no profile was named, a table of one precision is measured by all that have it, optional or not. `reason` says of a
    profile why the machine cannot run it, by default of this machine."""
    chosen = [(papers[paper], name) for paper in config.papers for name in chosen_experiments(config, papers[paper])]
    precisions = {paper.experiments[name].precision for paper, name in chosen} - {""} if config.all_profiles else set()
    asked = dict.fromkeys([*config.profiles, *(name for name, one in profiles.items() if one.precision in precisions)])
    every = [profiles[name] for name in asked if (reason or why_not)(profiles[name]) is None]
    runnable = [one for one in every if one.name in config.profiles]
    cells: dict[CellKey, None] = {}
    for paper in (papers[name] for name in config.papers):
        for name in chosen_experiments(config, paper):
            experiment = paper.experiments[name]
            for profile in every if experiment.precision else runnable:
                found = [
                    CellKey(machine, paper.name, experiment.source(case.name), case.name, case.workload, profile.name)
                    for case in cases_of(experiment, profile, config.preset.is_smoke)
                    if not why_denied(case)
                ]
                cells |= dict.fromkeys(found)
    first = _first_table(list(cells), runnable)
    spare = _spare(config, papers, list(cells), {one.name: one for one in every})
    return Work(machine, config.preset, config.seed, papers, tuple(cells), first, spare)


def _spare(
    config: Config, papers: Mapping[str, Paper], cells: Sequence[CellKey], rows: Mapping[str, Profile]
) -> tuple[tuple[CellKey, ...], ...]:
    """What waits where there is an accelerator, whose rows alone may take longer than the minutes: those in other
    precisions than fp32 or the table's own, and tables that their paper says nothing of; neither if it is named. The
    accelerator's are the first to be measured, and of its rows what the paper speaks of."""
    waits: dict[tuple[bool, bool, str], list[CellKey]] = {}
    if config.preset.minutes and not all(one.is_cpu for one in rows.values()):
        for cell in cells:
            row, paper = rows[cell.profile], papers[cell.paper]
            own = paper.experiments[cell.experiment].precision or FULL_PRECISION
            is_other = config.all_profiles and row.precision != own
            is_silent = config.experiments is None and not paper.speaks_of(cell.experiment)
            if is_other or is_silent:
                waits.setdefault((is_silent, row.is_cpu, row.name), []).append(cell)
    return tuple(tuple(waits[key]) for key in sorted(waits))


def _first_table(cells: Sequence[CellKey], runnable: Collection[Profile]) -> tuple[CellKey, ...]:
    """What shows most the soonest where there is an accelerator, which may be lent by the minute: the first table in
    fp32, on the accelerator and on one row of CPUs, of the same library and on all cores if there is one."""
    single = sorted((one for one in runnable if one.precision == FULL_PRECISION), key=lambda one: one.name)
    device = next((one for one in single if not one.is_cpu), None)
    beside = [one for one in single if one.is_cpu]
    if device is None or not beside:
        return ()
    cpu = max(beside, key=lambda one: (one.backend == device.backend, one.architecture == "multi-cpu"))
    return tuple(
        cell
        for cell in cells
        if (cell.paper, cell.experiment) == (cells[0].paper, cells[0].experiment)
        and cell.profile in {device.name, cpu.name}
    )


def chosen_experiments(config: Config, paper: Paper) -> list[str]:
    """Names of the paper's experiments that the configuration selects."""
    return [name for name in paper.experiments if config.experiments is None or name in config.experiments]


def by_experiment(cells: Collection[CellKey]) -> dict[tuple[str, str], list[CellKey]]:
    """The cells of each (paper, experiment)."""
    groups: dict[tuple[str, str], list[CellKey]] = {}
    for cell in cells:
        groups.setdefault((cell.paper, cell.experiment), []).append(cell)
    return groups
