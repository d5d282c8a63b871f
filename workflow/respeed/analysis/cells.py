"""results/tables/cells.csv: every case of every paper on every profile of every machine, measured or not."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from respeed.analysis.columns import apply_dtypes, make_frame, rows_of
from respeed.analysis.estimates import FULL_PRECISION, Estimate, estimate_cells, what_is_missing
from respeed.analysis.expected import FREE_OF_PEAK, MAX_PEAK_SHARE, Count, add_expected
from respeed.analysis.rounds import CELL, count_causes
from respeed.inputs.config import why_denied
from respeed.inputs.machines import Price, Profile, other_library
from respeed.inputs.registry import backends_of, why_not_run
from respeed.model import ARCHITECTURES, Case, Experiment, Paper, PublishedRow, Unit, number_bytes
from respeed.records import Description
from respeed.text import is_known

# The facts of a profile that tables show or that decide which programs it runs.
FACTS = ["label", "package", "architecture", "device", "backend", "precision", "ladder"]
# The facts that decide how a row runs.
DECIDING = ["backend", "device", "threads", "precision", "cpus"]
# The reason why a cell has no time although it can be measured.
NOT_YET = "not measured yet"


def judge_cells(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return a row for every cell that has rounds: its status and its numbers.

    The columns are `CELL`, and

    status, reason        settled, wide, contaminated, failed or not-run; what is missing, or why there is no time
    step, step_low, step_high, step_median
                          seconds of a step over rounds, for totals; NaN if no time may be shown
    peak_share            the cell's rate divided by the highest rate of a plain matrix product on the profile
    rounds, sessions      the number of rounds with a clean block, and the number of sessions with such rounds
    flops, traffic_bytes, threads, precision, is_cpu
                          from the last round that has the value
    blocks, discarded, error
                          over all rounds: the numbers of timed and discarded blocks, and the largest error
    peak_gflops, bandwidth_gbytes
                          the ceilings of the profile
    causes, slowed        why blocks were discarded, and what made steps slow in the last round that was slow; or empty
    """
    number = rounds.groupby(CELL, sort=False).ngroup()
    of_cell, timed = rounds.groupby(number), rounds[rounds["step_seconds"].notna()]
    of_timed = timed.groupby(number[timed.index])
    last = ["flops", "traffic_bytes", "threads", "precision", "is_cpu"]
    cells = of_cell[CELL].first().join(of_cell[last].last())
    cells["error"] = of_cell["error"].max()
    cells[["blocks", "discarded"]] = of_cell[["blocks", "discarded"]].sum()
    unsettled = ~rounds["settled"] & (rounds["status"] == "measured")
    cells["unsettled"] = unsettled.groupby(number).sum()
    cells["rounds"], cells["sessions"] = of_timed.size(), of_timed["session"].nunique()
    counts = ["rounds", "sessions"]
    cells[counts] = cells[counts].fillna(0).astype(int)
    cells[["peak_gflops", "bandwidth_gbytes"]] = of_timed[["peak_gflops", "bandwidth_gbytes"]].last()
    cells["step_median"] = of_timed["step_seconds"].median()
    cells[["step", "step_low", "step_high"]] = estimate_cells(
        timed["step_seconds"], number[timed.index], timed["session"]
    )
    rate = cells["flops"] / 1e9 / cells["peak_gflops"]
    cells["peak_share"], cells["share_low"] = rate / cells["step"], rate / cells["step_high"]
    untimed = rounds[rounds["status"] != "measured"]
    failures: dict[int, dict[str, str]] = {}
    for cell, status, reason in zip(number[untimed.index], untimed["status"], untimed["reason"], strict=True):
        failures.setdefault(cell, {})[status] = reason
    causes: dict[int, Counter[str]] = defaultdict(Counter)
    for cell, found in zip(number, rounds["cause_counts"], strict=True):
        causes[cell].update(found)
    verdicts = [
        _verdict(cell, failures.get(name, {}), causes[name])
        for name, cell in zip(number.unique(), cells.itertuples(), strict=True)
    ]
    cells["causes"] = [count_causes(causes[cell]) for cell in number.unique()]
    cells["slowed"] = rounds["slowed"].where(rounds["slowed"] != "").groupby(number).last().fillna("")
    cells[["status", "reason"]] = pd.DataFrame(verdicts, index=cells.index, columns=["status", "reason"], dtype=str)
    has_time = cells["status"].isin(["settled", "wide"])
    times = ["step", "step_low", "step_high", "step_median", "peak_share"]
    cells[times] = cells[times].where(has_time)
    return cells


def _verdict(cell: Any, failures: Mapping[str, str], causes: Mapping[str, int]) -> tuple[str, str]:
    # One wrong result is enough: a program that is right most of the time is not right. A round that could not run, say
    # for lack of memory at that moment, is only a missing round.
    if "wrong" in failures:
        return "failed", failures["wrong"]
    if not cell.rounds:
        for status in ("failed", "not-run"):
            if status in failures:
                return status, failures[status]
        return "contaminated", f"no clean block of {cell.blocks}: {count_causes(causes)}"
    if cell.share_low > MAX_PEAK_SHARE and cell.algorithm not in FREE_OF_PEAK:
        text = f"{cell.peak_share:.0%} of the highest rate that any matrix product reached here"
        return "failed", f"{text}: the time or the FLOP count is wrong"
    if 2 * cell.unsettled > cell.rounds:
        return "wide", f"the step had not settled after warm-up in {cell.unsettled} of {cell.rounds} rounds"
    missing = what_is_missing(step_estimate(cell), cell.rounds, failures.values(), cell.sessions)
    return ("wide" if missing else "settled"), missing


def cell_energy(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return each cell's joules per step and watts, by `CELL`; or `energy_reason`, why no round has joules.

    Only rounds that metered the same domains as the cell's last round with joules count.
    """
    metered = rounds[rounds["joules"].notna()]
    alike = metered[metered["energy_of"] == metered.groupby(CELL)["energy_of"].transform("last")]
    by_cell = alike.groupby(CELL)
    found = by_cell.agg(watts=("watts", "median"), energy_of=("energy_of", "last"))
    found[["joules", "joules_low", "joules_high"]] = estimate_cells(alike["joules"], by_cell.ngroup()).to_numpy()
    reasons = rounds[rounds["energy_reason"] != ""].groupby(CELL)["energy_reason"].last()
    found = found.join(reasons, how="outer")
    found["energy_reason"] = found["energy_reason"].mask(found["joules"].notna(), "")
    return found.astype({"energy_of": object, "energy_reason": object}).reset_index()


def step_estimate(cell: Any) -> Estimate:
    """Return the seconds of a step, with their interval, from a row of `judge_cells` that has a time."""
    return Estimate(cell.step) if np.isnan(cell.step_low) else Estimate(cell.step, cell.step_low, cell.step_high)


def make_cells(
    rounds: pd.DataFrame,
    papers: Mapping[str, Paper],
    profiles: Mapping[str, Profile],
    descriptions: Mapping[str, Description],
    prices: Mapping[str, Price] | None = None,
    count: Count | None = None,
) -> pd.DataFrame:
    """Make a cell for every machine, case and profile: from its `rounds`, or with the reason why it has none.

    The cost is the seconds times the price of an hour of the entire machine, divided by 3600. The expected time of a
    case that is not measured yet follows from its work, which `count` counts.
    """
    if rounds.empty and not descriptions:
        return make_frame([], "cells")
    cells = _asked(rounds, papers, profiles, descriptions)
    judged = judge_cells(rounds).drop(columns=["precision", "is_cpu"])
    cells = cells.merge(judged, how="left", on=CELL)
    measured = cells["status"].notna()
    cells["reason"] = cells["reason"].where(measured, cells["why"])
    cells["status"] = cells["status"].fillna("not-run")
    cells["gflops"] = cells["flops"] / cells["step"] / 1e9
    for end in ("", "_low", "_high", "_median"):
        cells[f"seconds{end}"] = cells["steps"] * cells[f"step{end}"]
    cells = cells.merge(cell_energy(rounds), how="left", on=CELL)
    for what in ("flops", "traffic_bytes", "joules", "joules_low", "joules_high"):
        cells[what] *= cells["steps"]
    known = prices or {}
    per_hour = cells["machine"].map({machine: price.per_hour for machine, price in known.items()}).astype(float)
    cells["cost"] = cells["seconds"] * per_hour / 3600
    currency = {machine: price.currency for machine, price in known.items()}
    cells["currency"] = cells["machine"].map(currency).astype(object)
    counted = {"flops": cells["flops"], "bytes": cells["traffic_bytes"], "examples": cells["examples"]}
    cells["amount"] = np.select([cells["counted"] == what for what in counted], list(counted.values()), np.nan)
    cells = add_expected(_beside_published(cells, papers), cells["reason"] == NOT_YET, count)
    return apply_dtypes(cells, "cells")


def _asked(
    rounds: pd.DataFrame,
    papers: Mapping[str, Paper],
    profiles: Mapping[str, Profile],
    descriptions: Mapping[str, Description],
) -> pd.DataFrame:
    """Return every case of the papers on every row of each machine; `why` is the reason if the case has no rounds."""
    latest = rounds.drop_duplicates(["machine", "profile"], keep="last")
    ran: dict[str, dict[str, dict[str, Any]]] = {machine: {} for machine in descriptions}
    for machine, profile, facts in zip(latest["machine"], latest["profile"], latest["profile_facts"], strict=True):
        ran.setdefault(machine, {})[profile] = facts
    cases, tables = _cases(papers), []
    for machine in sorted(ran):
        description = descriptions.get(machine)
        rows = _profile_facts(ran[machine], profiles, description.hardware.model_dump() if description else {})
        why = description.not_measurable if description else {}
        rows["why"] = [why.get(name, "") for name in rows["profile"]]
        tables.append(cases.merge(rows, how="cross").assign(machine=machine))
    asked = pd.concat(tables, ignore_index=True)
    has_row = [
        row.backend in row.row_backends
        and row.architecture in row.architectures
        and row.only_in in {"", row.precision}
        and row.table.ladder == row.ladder
        for row in rows_of(asked)
    ]
    asked = asked[np.array(has_row, dtype=bool)].copy()
    cannot = [why_not_run(*what) for what in zip(asked["algorithm"], asked["backend"], asked["precision"], strict=True)]
    whys = zip(cannot, asked["why"], asked["denied"], strict=True)
    asked["why"] = [next(filter(None, (*one, NOT_YET))) for one in whys]
    return asked


def _cases(papers: Mapping[str, Paper]) -> pd.DataFrame:
    """Make a row for each case of every table; a case that several algorithms run has a row for each algorithm."""
    rows = []
    for paper in papers.values():
        for experiment in paper.experiments.values():
            for case in experiment.cases:
                algorithm = experiment.algorithms.get(case.workload)
                # A row has the case if its backend runs one of these: the algorithm, or else any workload of the table.
                workloads = {case.workload} if algorithm else {other.workload for other in experiment.cases}
                rows.append({
                    "paper": paper.name, "experiment": experiment.name, "case": case.name, "algorithm": case.workload,
                    "table": experiment, "of": case,
                    "steps": experiment.steps(case), "examples": experiment.examples_of(case),
                    "counted": experiment.unit.counted or "", "work": describe_work(experiment, case),
                    "of_algorithm": f", {algorithm.label}" if algorithm else "",
                    "architectures": [one for one in ARCHITECTURES if experiment.runs_on(case, one)],
                    "only_in": experiment.precision, "denied": why_denied(case),
                    "row_backends": {name for one in workloads for name in backends_of(one)},
                })  # fmt: skip
    return pd.DataFrame(rows)


def describe_work(experiment: Experiment, case: Case) -> str:
    """Describe in words the work that the seconds of a case are for."""
    examples = case.examples or experiment.examples
    if examples or experiment.repeats:
        return f"{examples:,} examples" if examples else f"{experiment.repeats:,} steps"
    batch = case.parameters.get("batch")
    return f"a step of {batch:,} {experiment.unit.examples}" if batch else "a step"


def _profile_facts(
    ran: Mapping[str, Mapping[str, Any]], profiles: Mapping[str, Profile], hardware: Mapping[str, Any]
) -> pd.DataFrame:
    """Return the rows of one machine, in order of architecture and name, with the facts of their profiles' files.

    If the file is gone, or its `DECIDING` facts differ from the records, the row has the facts with which it `ran`.
    """
    facts = {name: {key: one[key] for key in FACTS} for name, one in ran.items()}
    for name, profile in profiles.items():
        here = ran.get(name, {})
        differs = here and any((here.get(key) or None) != (getattr(profile, key) or None) for key in DECIDING)
        if not (differs or other_library(profile, hardware) or (profile.optional and not here)):
            facts[name] = {key: getattr(profile, key) for key in FACTS}
    order = sorted(facts, key=lambda name: (ARCHITECTURES.index(facts[name]["architecture"]), name))
    named = tell_apart(facts)
    return pd.DataFrame([{"profile": name, **named[name]} for name in order], columns=["profile", *FACTS])


def rows_beside(paper: Paper, experiment: str, architecture: str, algorithm: str) -> tuple[PublishedRow, ...]:
    """Return the published rows that a row of ours is compared with.

    These rows name our row's `architecture` and, in a table of several algorithms, ran our row's `algorithm`.
    """
    ran_in = paper.experiments[experiment].ran_in
    return tuple(row for row in paper.rows.values() if architecture in row.beside and ran_in(algorithm, row.name))


def is_beside(paper: Paper, cell: Any, names: Collection[str]) -> bool:
    """Return whether a cell is compared with any of the published rows `names`."""
    beside = rows_beside(paper, cell.experiment, cell.architecture, cell.algorithm)
    return any(row.name in names for row in beside)


def published_beside(
    paper: Paper, experiment: str, case: str, architecture: str, algorithm: str, *work: float | None
) -> dict[str, Any]:
    """Return `published_row`, the best of the published rows that a cell is compared with, and `published_seconds`.

    `work` is the cell's FLOP and bytes, at 4 bytes per array element: they turn a printed rate into seconds.
    """
    beside = rows_beside(paper, experiment, architecture, algorithm)
    row = paper.fastest(experiment, case, [one.name for one in beside])
    seconds = paper.seconds(experiment, case, row.name, *work) if row else None
    return {"published_row": row.name if row else "", "published_seconds": seconds or np.nan}


def _beside_published(cells: pd.DataFrame, papers: Mapping[str, Paper]) -> pd.DataFrame:
    """Add to each cell `published_row` and `published_seconds`, and the columns `label` and `is_cpu`."""
    width = number_bytes(FULL_PRECISION) / cells["precision"].map(number_bytes)
    work = pd.DataFrame({"flops": cells["flops"], "moved": cells["traffic_bytes"] * width}).astype(object)
    work = work.where(work.notna(), None)
    names = [cells[name] for name in ("paper", "experiment", "case", "architecture", "algorithm")]
    keys = list(zip(*names, work["flops"], work["moved"], strict=True))
    best = {key: published_beside(papers[key[0]], *key[1:]) for key in set(keys)}
    label, is_cpu = cells["label"] + cells["of_algorithm"], cells["device"] == "cpu"
    return cells.join(pd.DataFrame([best[key] for key in keys], cells.index)).assign(label=label, is_cpu=is_cpu)


# The name of the machine in the paper's own rows, in tables that have the paper's rows and ours.
PAPER = "paper"


def reference(paper: Paper) -> str:
    """Name a paper in a few words, such as "Raina, Madhavan and Ng (ICML 2009)"."""
    names = [name.strip("{}") if name.startswith("{") else name.split()[-1] for name in paper.authors]
    if len(names) > 3:
        names = [names[0], "others"]
    return f"{' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))} ({paper.venue} {paper.year})"


def label_row(paper: Paper, row: PublishedRow) -> str:
    """Name a published row; add its algorithm, device and precision if another row has the same label and package."""
    alike = [other for other in paper.rows.values() if (other.label, other.package) == (row.label, row.package)]
    if len(alike) == 1:
        return row.label
    return ", ".join(filter(None, [row.label, row.algorithm, row.device, row.precision]))


def tell_apart(profiles: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the facts of profiles by name; a label that several profiles have is followed by the profile's name."""
    seen = Counter(facts["label"] for facts in profiles.values())
    return {
        name: {**facts, "label": f"{facts['label']} ({name})" if seen[facts["label"]] > 1 else facts["label"]}
        for name, facts in profiles.items()
    }


def across_precisions(row: str, base: Collection[str]) -> str:
    """Return the two precisions of a ratio, such as "fp32 over fp64"; empty if they are equal, or one is not known."""
    others = [one for one in base if one and row and one != row]
    return f"{row} over {' and '.join(others)}" if others else ""


def in_unit(cell: Any, unit: Unit) -> tuple[float | None, float | None, float | None]:
    """Return a cell's time and its interval in a table's unit. For a rate, the ends of the interval are swapped."""
    value, low, high = (
        unit.value(seconds, cell.amount) if is_known(seconds) and seconds else None
        for seconds in (cell.seconds, cell.seconds_low, cell.seconds_high)
    )
    return (value, high, low) if unit.counted else (value, low, high)


def words_of_unit(experiment: Experiment) -> str:
    """Describe a table's unit, such as "seconds for 1,000,000 examples", "milliseconds a step", "examples a second"."""
    name = experiment.unit.name
    if experiment.unit.counted:
        return name
    if any(case.examples for case in experiment.cases):
        return f"{name} for a whole run of each case"
    if experiment.repeats:
        return f"{name} for {experiment.repeats:,} steps"
    return f"{name} for {experiment.examples:,} examples" if experiment.examples else f"{name} a step"
