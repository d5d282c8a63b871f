"""The work of a run: the cases that it measures.

A case is listed once for a row, however many tables ask for it. Its key is its workload and parameters; tables that ask
for the same key share the case's measurements.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain

from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.tables import CellKey
from respeed.inputs.config import Config, Preset
from respeed.inputs.consent import why_denied
from respeed.inputs.machines import Profile
from respeed.inputs.registry import runs, workloads
from respeed.machine.software import checksums
from respeed.model import Case, Experiment, Paper, Papers, command_of
from respeed.paths import find_file
from respeed.protocol import REAL, SMOKE, TimingProtocol
from respeed.schedule.rows import LADDER_BACKEND, Row, Rows, climb

# Tiers: the first table, and the usual cases; all higher tiers are of spare cases, with a tier for each row.
Tier = tuple[int, bool, str]
FIRST = (0, False, "")
USUAL = (1, False, "")
# The first numbers of the higher tiers.
OTHER_PRECISION = 2
SILENT = 3

# A guess: a round of a smoke case, without the start of its process.
SMOKE_CASE_SECONDS = 0.2


@dataclass(frozen=True)
class Wanted:
    """A case on a row; `cells` are the cells of tables that ask for the case; cases of a lower `tier` come first.

    `is_first` is whether the case is shown early: the first table asks for it, on a row of `_shown_first`. `source` is
    a checksum of the workload's file and of the outside program, if any. `rehearsals` are tiny cases of the table: one
    of the same workload runs before a case of real size, to load what a first step loads. `guess` is a guess of a
    round's seconds.
    """

    row: Row
    case: Case
    cells: tuple[CellKey, ...]
    tier: Tier
    is_first: bool
    source: str
    rehearsals: tuple[Case, ...]
    guess: float

    @property
    def profile(self) -> str:
        """Return the name of the row's profile."""
        return self.row.profile.name

    @cached_property
    def key(self) -> str:
        """Return the key of the case."""
        return self.case.key

    @property
    def place(self) -> tuple[str, str]:
        """Return the name of the row's profile and the key of the case; no other `Wanted` has the same pair."""
        return self.profile, self.key


@dataclass(frozen=True)
class Work:
    """All that is to be measured on a machine; `minutes` is the preset's, for each paper that prints rows.

    With `since`, a moment (ISO 8601), only what was measured from then on counts as measured.
    """

    machine: str
    preset: Preset
    seed: int
    papers: Papers
    wanted: tuple[Wanted, ...]
    minutes: float
    since: str = ""

    @property
    def smoke(self) -> bool:
        """Return whether the cases are tiny, so that their times are not measurements."""
        return self.preset.is_smoke

    @property
    def cells(self) -> list[CellKey]:
        """Return all cells that are asked for."""
        return list(chain.from_iterable(wanted.cells for wanted in self.wanted))

    @property
    def timing(self) -> TimingProtocol:
        """Return how each case is timed."""
        return SMOKE if self.smoke else REAL


def list_work(
    config: Config, papers: Papers, rows: Rows, machine: str, only: Sequence[str] = (), since: str = ""
) -> Work:
    """List each case once on every row that runs it, in the order of the tables.

    Parameters
    ----------
    config : Config
        The configuration. If it names no profile, a table in another precision than fp32 is measured on all rows in
        that precision, optional or not.
    papers : mapping
        The papers by name, with the preset's cases.
    rows : mapping
        The rows that the machine can run, by profile.
    machine : str
        The name of the machine.
    only : sequence of str, optional
        Words; the name paper/experiment/case must contain one of them. A full name, such as raina2009/rbm/4096x11008,
        selects this case alone; with a workload at its end, such as /rbm, it selects only this workload of the case.
    since : str, optional
        A moment (ISO 8601): what was measured before does not count as measured.
    """
    tables = chosen_tables(config, papers)
    work: dict[tuple[str, str], Wanted] = {}
    early = _shown_first(config, rows) or {*rows}
    is_smoke = config.preset.is_smoke
    # An accelerator's rows may take longer than the minutes.
    has_device = not all(row.profile.is_cpu for row in rows.values())
    for paper, experiment in tables:
        for row in _rows_for(config, experiment, rows):
            for case in cases_of(experiment, row.profile):
                name = f"{paper.name}/{experiment.name}/{case.name}"
                words = [word for word in only if _names(word, name, case.workload)]
                if why_denied(case) or (only and not words):
                    continue
                profile = row.profile.name
                is_first = experiment is tables[0][1] and profile in early
                cell = CellKey(machine, paper.name, experiment.name, case.name, case.workload, profile)
                wanted = Wanted(
                    row,
                    case,
                    (cell,),
                    _tier(config, paper, experiment, row, is_first) if has_device else USUAL,
                    is_first,
                    source_of(case, row.profile.architecture),
                    () if is_smoke else experiment.smoke_cases,
                    SMOKE_CASE_SECONDS if is_smoke else experiment.round_seconds / len(experiment.cases),
                )
                if before := work.get(wanted.place):
                    wanted = replace(
                        wanted,
                        cells=before.cells + wanted.cells,
                        tier=min(before.tier, wanted.tier),
                        is_first=before.is_first or is_first,
                    )
                work[wanted.place] = wanted
    printing = {paper.name for paper, _ in tables if paper.rows}
    minutes = config.preset.minutes * len(printing)
    return Work(machine, config.preset, config.seed, papers, tuple(work.values()), minutes, since)


def _names(word: str, name: str, workload: str) -> bool:
    """Return whether a word of `--only` selects the case with this `workload` and the `name` paper/experiment/case."""
    is_whole = word.count("/") > 1 and not word.endswith("/")
    if is_whole:
        return word in (name, f"{name}/{workload}")
    return word in name


def chosen_tables(config: Config, papers: Papers) -> list[tuple[Paper, Experiment]]:
    """Return the tables that the configuration selects, in the order of its papers, each with its paper."""
    tables = []
    for paper in (papers[name] for name in config.papers):
        for name, table in paper.experiments.items():
            if config.experiments is None or name in config.experiments:
                tables.append((paper, table))
    return tables


def _rows_for(config: Config, experiment: Experiment, rows: Rows) -> list[Row]:
    """Return the rows that the configuration asks to run a table."""
    if experiment.ladder:
        top = ("all", LADDER_BACKEND, FULL_PRECISION)
        for row in rows.values():
            if (row.profile.threads, row.profile.backend, row.profile.precision) == top:
                return climb(row)
        return []
    if config.all_profiles and experiment.precision not in ("", FULL_PRECISION):
        return list(rows.values())
    return [row for name, row in rows.items() if name in config.profiles]


def cases_of(experiment: Experiment, profile: Profile) -> list[Case]:
    """Return the cases of a table that the profile runs."""
    cases = []
    if experiment.precision in {"", profile.precision}:
        for case in experiment.cases:
            is_run = runs(case.workload, profile.backend, profile.precision)
            if is_run and experiment.runs_on(case, profile.architecture):
                cases.append(case)
    return cases


def _tier(config: Config, paper: Paper, experiment: Experiment, row: Row, is_first: bool) -> Tier:
    """Return the tier of a table on a row, on a machine with an accelerator.

    As an accelerator may be lent by the minute, FIRST is the first table on rows in fp32: an accelerator's and those of
    all CPU cores. As an accelerator's rows may take longer than the minutes, two groups have higher tiers, unless they
    are named: rows in another precision than the table's (fp32 by default); then tables for which the paper has no
    printed number and no claim. In each group, every row has a tier of its own, and accelerators' rows come first.
    """
    if not config.preset.minutes:
        return USUAL
    profile = row.profile
    is_other = config.all_profiles and profile.precision != (experiment.precision or FULL_PRECISION)
    is_silent = config.experiments is None and bool(paper.rows) and not paper.speaks_of(experiment)
    if is_silent or is_other:
        return SILENT if is_silent else OTHER_PRECISION, profile.is_cpu, profile.name
    return FIRST if is_first else USUAL


def _shown_first(config: Config, rows: Rows) -> set[str]:
    """Return the names of the fp32 rows on which the first table is shown early; none without an accelerator or a CPU.

    These are one accelerator's row, if possible of a backend that has a CPU's row too, and the rows of all CPU cores,
    or else of one: the fastest of these is the base of the accelerator's speedup.
    """
    profiles = [rows[name].profile for name in sorted(rows) if name in config.profiles]
    full = [profile for profile in profiles if profile.precision == FULL_PRECISION]
    devices = [profile for profile in full if not profile.is_cpu]
    cpus = [profile for profile in full if profile.is_cpu]
    if not devices or not cpus:
        return set()
    backends = {profile.backend for profile in cpus}
    device = max(devices, key=lambda profile: profile.backend in backends)
    bases = [profile for profile in cpus if profile.architecture == "multi-cpu"] or cpus
    return {device.name, *(profile.name for profile in bases)}


def source_of(case: Case, architecture: str) -> str:
    """Return a checksum of the case's workload file and of the outside program that it runs, if any.

    A rebuilt program has another checksum, so that rounds of two builds are never combined.
    """
    command = command_of(case, architecture)
    programs = {}
    if command:
        programs = checksums(command, find_file("papers", case.program["paper"]))
    sources = json.dumps([_digest_of(case.workload), programs], sort_keys=True)
    return hashlib.sha256(sources.encode()).hexdigest()[:16]


@cache
def _digest_of(workload: str) -> str:
    """Return the checksum of a workload's file."""
    return hashlib.sha256(workloads()[workload].file.read_bytes()).hexdigest()
