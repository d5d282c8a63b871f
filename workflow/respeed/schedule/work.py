"""The work of a run: its papers and machines, and the cases that it measures.

A case is listed once for a row, however many tables ask for it. Its key is its workload and parameters; tables that ask
for the same key share the case's measurements.
"""

import contextlib
import hashlib
import json
import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.expected import Counts
from respeed.analysis.tables import CellKey
from respeed.inputs.config import ALL, THIS, Config, Preset, load_config
from respeed.inputs.consent import why_denied
from respeed.inputs.machines import MACHINE_FILES, PROFILE_FILES, Notes, Profile
from respeed.inputs.papers import PAPER_FILES, load_papers, paper_names
from respeed.inputs.registry import runs, workloads
from respeed.machine import machine_slug
from respeed.machine.software import checksums
from respeed.model import Case, Experiment, Paper, Papers, command_of
from respeed.paths import PAPERS, private_folder, write_text
from respeed.protocol import REAL, SMOKE, TimingProtocol
from respeed.records import case_key, recorded_machines
from respeed.schedule.rows import LADDER_BACKEND, Row, Rows, climb

# Tiers: the first table, and the usual cases; all higher tiers are of spare cases.
FIRST, USUAL = 0, 1
# To count the layers of all nets of all papers takes 10 s; a process that is stuck would never end.
COUNT_SECONDS = 600.0


# --- what is shown


@dataclass(frozen=True)
class Asked:
    """Which results are to be shown.

    Attributes
    ----------
    smoke : bool
        Whether those of tiny cases.
    machine : str or None
        The name of this machine; None if it is that of config.yaml, or made from the hardware.
    papers : collection of str or None
        The papers; None for those of config.yaml.
    show : sequence of str
        The machines (see `machines_shown`); empty for those of config.yaml.
    """

    smoke: bool
    machine: str | None = None
    papers: Collection[str] | None = None
    show: Sequence[str] = ()


def papers_shown(smoke: bool, chosen: Collection[str] | None = None, *, strict: bool = False) -> dict[str, Paper]:
    """Return the `chosen` papers, by default those of config.yaml.

    A paper that is not valid is left out, with a message. Raises UserError if no paper is left, if a chosen name has no
    paper, or, if `strict`, if a chosen paper is not valid.
    """
    names, known = load_config().papers if chosen is None else tuple(chosen), paper_names()
    papers = PAPER_FILES.load_all(names, [name for name in names if strict or name not in known])
    if smoke:
        papers = {name: paper.at_tiny_sizes() for name, paper in papers.items()}
    return papers or load_papers(names)


def profiles_shown(chosen: Collection[str] = ()) -> dict[str, Profile]:
    """Return all valid profiles, with a message for any other; raise UserError if a `chosen` profile is not valid."""
    return PROFILE_FILES.load_all(chosen=chosen)


def notes_shown() -> dict[str, Notes]:
    """Return the notes in machines' files, by machine; a file with a mistake is left out, with a message."""
    return MACHINE_FILES.load_all(chosen=())


def machines_shown(smoke: bool, machine: str | None = None, show: Sequence[str] = ()) -> list[str]:
    """Return the names of the machines to show, of those that have records.

    Parameters
    ----------
    smoke : bool
        Whether the records are of tiny cases.
    machine : str, optional
        The name of this machine, by default as in config.yaml, or made from the hardware.
    show : sequence of str, optional
        Names, THIS for this machine and ALL for every machine; by default `show` of config.yaml. If no machine that is
        named has records, every machine is shown.
    """
    there, config = recorded_machines(smoke), load_config()
    this = machine or config.machine or machine_slug()
    named = [this if name == THIS else name for name in show or config.show]
    if ALL in named or not any(there.get(name) for name in named):
        named = [this, *sorted(there)]
    return list(dict.fromkeys(name for name in named if name in there))


# --- what is measured


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
    tier: int
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
        return case_key(self.case.workload, self.case.parameters)

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
        return [cell for wanted in self.wanted for cell in wanted.cells]

    @property
    def timing(self) -> TimingProtocol:
        """Return how each case is timed."""
        return SMOKE if self.smoke else REAL


def list_work(config: Config, papers: Papers, rows: Rows, machine: str, only: Sequence[str] = ()) -> Work:
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
    """
    chosen = chosen_tables(config, papers)
    found: dict[tuple[str, str], Wanted] = {}
    early = _shown_first(rows) or {*rows}
    for paper, experiment in chosen:
        for row in _rows_for(config, experiment, rows):
            for case in cases_of(experiment, row.profile):
                name = f"{paper.name}/{experiment.name}/{case.name}"
                if why_denied(case) or (only and not any(_names(word, name, case.workload) for word in only)):
                    continue
                cell = CellKey(machine, paper.name, experiment.name, case.name, case.workload, row.profile.name)
                place = row.profile.name, case_key(case.workload, case.parameters)
                before = found.get(place)
                is_first = experiment is chosen[0][1] and row.profile.name in early
                tier = _tier(config, paper, experiment, row, is_first, rows)
                found[place] = Wanted(
                    row,
                    case,
                    (*before.cells, cell) if before else (cell,),
                    min(tier, before.tier) if before else tier,
                    is_first or (before is not None and before.is_first),
                    source_of(case, row.profile.architecture),
                    () if config.preset.is_smoke else experiment.smoke_cases,
                    experiment.round_seconds / len(experiment.cases),
                )
    printing = {paper.name for paper, _ in chosen if paper.rows}
    return Work(
        machine, config.preset, config.seed, papers, tuple(found.values()), config.preset.minutes * len(printing)
    )


def _names(word: str, name: str, workload: str) -> bool:
    """Return whether a word of `--only` selects the case with this `workload` and the `name` paper/experiment/case."""
    is_whole = word.count("/") > 1 and not word.endswith("/")
    return word in (name, f"{name}/{workload}") if is_whole else word in name


def chosen_tables(config: Config, papers: Papers) -> list[tuple[Paper, Experiment]]:
    """Return the tables that the configuration selects, in the order of its papers, each with its paper."""
    tables = [(papers[name], table) for name in config.papers for table in papers[name].experiments.values()]
    return [(paper, table) for paper, table in tables if config.experiments is None or table.name in config.experiments]


def _rows_for(config: Config, experiment: Experiment, rows: Rows) -> list[Row]:
    """Return the rows that the configuration asks to run a table."""
    if experiment.ladder:
        steps = [one for one in rows.values() if one.profile.threads == "all" and one.profile.backend == LADDER_BACKEND
                 and one.profile.precision == FULL_PRECISION]  # fmt: skip
        return climb(steps[0]) if steps else []
    any_precision = config.all_profiles and experiment.precision not in ("", FULL_PRECISION)
    return [one for one in rows.values() if one.profile.name in config.profiles or any_precision]


def cases_of(experiment: Experiment, profile: Profile) -> list[Case]:
    """Return the cases of a table that the profile runs."""
    return [
        case
        for case in experiment.cases
        if runs(case.workload, profile.backend, profile.precision)
        and experiment.runs_on(case, profile.architecture)
        and experiment.precision in {"", profile.precision}
    ]


def _tier(config: Config, paper: Paper, experiment: Experiment, row: Row, is_first: bool, rows: Rows) -> int:
    """Return the tier of a table on a row; it is USUAL without an accelerator's row, or without minutes.

    As an accelerator may be lent by the minute, FIRST is the first table on two rows in fp32: an accelerator's and a
    CPU's. As an accelerator's rows may take longer than the minutes, two groups have higher tiers, unless they are
    named: rows in another precision than the table's (fp32 by default); then tables for which the paper has no printed
    number and no claim. In each group, every row has a tier of its own, and accelerators' rows come first.
    """
    if all(one.profile.is_cpu for one in rows.values()) or not config.preset.minutes:
        return USUAL
    is_other = config.all_profiles and row.profile.precision != (experiment.precision or FULL_PRECISION)
    is_silent = config.experiments is None and bool(paper.rows) and not paper.speaks_of(experiment.name)
    if is_other or is_silent:
        names = sorted(rows, key=lambda name: (rows[name].profile.is_cpu, name))
        place = names.index(row.profile.name) if row.profile.name in names else len(names)
        return USUAL + 1 + is_silent * (len(names) + 1) + place
    return FIRST if is_first else USUAL


def _shown_first(rows: Rows) -> set[str]:
    """Return the names of two fp32 rows, an accelerator's and a CPU's; if possible, of one backend, on all cores."""
    single = sorted(
        (one.profile for one in rows.values() if one.profile.precision == FULL_PRECISION), key=lambda one: one.name
    )
    pairs = [(device, cpu) for device in single if not device.is_cpu for cpu in single if cpu.is_cpu]
    alike = [(device.backend == cpu.backend, cpu.architecture == "multi-cpu") for device, cpu in pairs]
    return {one.name for one in pairs[alike.index(max(alike))]} if pairs else set()


def source_of(case: Case, architecture: str) -> str:
    """Return a checksum of the case's workload file and of the outside program that it runs, if any.

    A rebuilt program has another checksum, so that rounds of two builds are never combined.
    """
    command = command_of(case, architecture)
    programs = checksums(command, PAPERS / case.parameters["program"]["paper"]) if command else {}
    return hashlib.sha256(json.dumps([_file_digest(case.workload), programs], sort_keys=True).encode()).hexdigest()[:16]


@cache
def _file_digest(workload: str) -> str:
    return hashlib.sha256(workloads()[workload].file.read_bytes()).hexdigest()


def count_cases(cases: Collection[Case]) -> Counts:
    """Return, by the case's key, the FLOP and bytes of a step of each case, as its workload counts them.

    A separate process counts them, because importing workloads takes seconds, and runs files that users have added. The
    counts are kept until the workload's file changes. An unknown count is NaN; if that process fails, the cases that it
    was to count are left out.
    """
    asked = {f"{_file_digest(one.workload)} {case_key(one.workload, one.parameters)}": one for one in cases}
    path = private_folder("counts") / "counts.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if missing := [name for name in asked if name not in known]:
        sent = json.dumps([(asked[name].workload, asked[name].parameters) for name in missing])
        command = [sys.executable, "-P", "-m", "respeed.cli", "count"]
        with contextlib.suppress(subprocess.SubprocessError, ValueError):
            run = subprocess.run(command, input=sent, capture_output=True, text=True, check=True, timeout=COUNT_SECONDS)
            known.update(zip(missing, json.loads(run.stdout), strict=True))
            write_text(path, json.dumps(known))
    keys = {name: case_key(one.workload, one.parameters) for name, one in asked.items() if name in known}
    return {key: tuple(known[name]) for name, key in keys.items()}
