"""How far can the numbers be trusted? Prints figures; minutes long, so no test.

./run python bench/trust.py coverage                  simulated machines with known true times, through the real tables
./run python bench/trust.py machines                  pairs of equal machines, and cells of two sessions
./run python bench/trust.py claims                    true and false claims of every kind, on machines of known ratios
./run python bench/trust.py busy                      a busy loop of 0, 30 and 70 % of a core beside measurements
./run python bench/trust.py whole                     an extrapolated total against a run of every step
./run python bench/trust.py corrected CLONE           seconds at the quiet probe, by the records of a clone
./run python bench/trust.py agree FIRST SECOND        the tables of two clones, of runs on the same machine
"""

import argparse
import contextlib
import math
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
from simulated import CLAIMS, PAPERS, PROFILES, RBM, SCENARIOS, Noise, simulate, simulate_alike, simulate_claim

from respeed.analysis.cells import by_session, doubt_of, estimate_rounds
from respeed.analysis.claims import NOT_SETTLED, REPRODUCED
from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import RATIO_LEVEL, estimate_cell, estimate_ratio, half_of
from respeed.analysis.neighbours import TOGETHER, UNRELATED, Quiet, find_quiet, slope_of
from respeed.analysis.rounds import CELL, read_rounds, step_times
from respeed.analysis.tables import CellKey, Round, group_by
from respeed.inputs.config import load_config
from respeed.inputs.papers import load_papers
from respeed.machine.cpu import usable_cores
from respeed.machine.process import machine_lock
from respeed.measure.order import Job, Order
from respeed.measure.progress import Progress
from respeed.measure.turn import measure_turn
from respeed.protocol import REAL, TimingProtocol
from respeed.records import Record, Result, read_records
from respeed.schedule.rows import find_rows

MACHINES, PAIRS, CLAIM_MACHINES = 400, 160, 1000
# Loads of a core, how often each is measured, and cases of every kind: paper, table, case.
LOADS, BUSY_TURNS = (0.0, 0.3, 0.7), 4
BUSY_CASES = [
    ("raina2009", "rbm", "576x1024"),
    ("raina2009", "rbm", "4096x11008"),
    ("raina2009", "patches", "20736x49152-patch24"),
    ("raina2009", "sparse-coding", "10-percent"),
    ("machine", "copies", "2x268-megabytes"),
]
BUSY_LOOP = """
import os, random, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
load = float(sys.argv[2])
while True:
    end = time.perf_counter() + random.expovariate(1 / (0.2 * load))
    while time.perf_counter() < end:
        pass
    time.sleep(random.expovariate(1 / (0.2 * (1 - load))))
"""
# The true speeds of four rows over the first: all alike, where every claim is false; and two pairs of near ones.
EQUAL, UNEQUAL = (1.0, 1.0, 1.0, 1.0), (1.0, 0.55, 1.03, 0.5)


def coverage() -> None:
    """Share of printed intervals that hold the truth, and of verdicts on equally fast rows that claim a difference."""
    for noise in SCENARIOS:
        print(noise.name)
        for ratios, what in ((EQUAL, "four rows equally fast"), (UNEQUAL, "rows that differ")):
            for rounds, again in ((4, False), (4, True), (6, False), (20, False)):
                found = simulate(noise, ratios, rounds, MACHINES, again)
                print(
                    f"  {what}, {rounds} rounds{' and what is unsettled again' if again else ''}: {found}", flush=True
                )


def machines() -> None:
    """How often equal machines are said to differ, and how often a cell of two sessions holds its long-run seconds."""
    for process, session in ((0.02, 0.0), (0.04, 0.0), (0.01, 0.04), (0.01, 0.06)):
        noise = Noise("shared", spreads=(0.01,) * 4, process=process, session=session)
        for rounds in (6, 12, 20):
            different = simulate_alike(noise, rounds, PAIRS)
            print(f"a round {process:.0%}, a session {session:.0%}, {rounds} rounds: "
                  f"a cell faster or slower in {different:.0%}", flush=True)  # fmt: skip
    for rounds in (6, 12, 20):
        found = simulate(Noise("days", session=0.04), EQUAL, rounds, 60, again=False, sessions=2)
        print(f"two sessions that differ by 4 %, {rounds} rounds each: {found}", flush=True)


def claims() -> None:
    """How often each claim is reproduced, left open, and said to be otherwise."""
    for test, levels, facts, is_true in CLAIMS:
        for noise in (0.01, 0.03, 0.08):
            found = simulate_claim(test, levels, facts, noise, CLAIM_MACHINES)
            shares = [found[verdict] / CLAIM_MACHINES for verdict in (REPRODUCED, NOT_SETTLED)]
            print(f"{'true' if is_true else 'false'}: {test} {facts or ''}, here {levels}, noise {noise:.0%}: "
                  f"reproduced {shares[0]:.1%}, not settled {shares[1]:.1%}, "
                  f"otherwise {1 - sum(shares):.1%}", flush=True)  # fmt: skip


def busy() -> None:
    """Measure beside a busy loop of 0, 30 and 70 % of a core, in turns; print each load's seconds over those without.

    The loop runs in this machine, where the kernel counts the waiting for a core and the tables discard such blocks.
    Here the blocks are judged without that counter, as beside a neighbour that only the host sees.
    """
    for profile in ("openblas-1", "openblas-all", "torch-all"):
        rounds, discarded = _rounds_beside_loads(profile)
        print(f"{profile}: with the counter, {discarded[0.3]:.0%} and {discarded[0.7]:.0%} of blocks are discarded")
        timed = {load: _timed(frame) for load, frame in rounds.items()}
        for key, quiet in timed[0.0].items():
            texts = [f"{load:.0%}: {_over(timed[load][key], quiet)}" for load in LOADS[1:]]
            print(f"  {key.algorithm} {key.case}: {'; '.join(texts)}", flush=True)


def _timed(rounds: pd.DataFrame) -> defaultdict[CellKey, list[Round]]:
    """Return the rounds that have a time, by cell; of a case that several tables show, the first cell."""
    timed = rounds[rounds["step_seconds"].notna()].drop_duplicates("record")
    return group_by(rows_of(timed, Round), lambda row: row.key)


def _over(loaded: Sequence[Round], quiet: Sequence[Round]) -> str:
    """Say how many times as long a cell's rounds beside a load took as those without, corrected and as measured."""
    if not loaded:
        return "no clean round"
    ratio, _ = estimate_ratio(by_session(loaded), by_session(quiet))
    ratio = ratio.widened(half_of(doubt_of(loaded).over(doubt_of(quiet)), RATIO_LEVEL))
    measured = _mean_measured(loaded) / _mean_measured(quiet)
    slowness = fmean(row.slowness or math.nan for row in loaded)
    interval = f"{ratio.low:.3f} to {ratio.high:.3f}" if ratio.margin else "no interval"
    return f"{ratio.value:.3f} ({interval}), as measured {measured:.2f}, probes {slowness:.2f}"


def _mean_measured(timed: Sequence[Round]) -> float:
    return fmean(row.step_seconds_measured or math.nan for row in timed)


def _rounds_beside_loads(profile: str) -> tuple[dict[float, pd.DataFrame], dict[float, float]]:
    """Return the rounds beside each load, and which share of the blocks the tables would discard there."""
    papers = load_papers(["raina2009", "machine"])
    records: dict[float, list[Record]] = {load: [] for load in LOADS}
    for turn in range(BUSY_TURNS):
        asked = []
        for paper, table, case in BUSY_CASES:
            experiment = papers[paper].experiments[table]
            asked.append(Job(experiment.case(case), turn + 1, "", experiment.smoke_cases))
        for load in sorted(LOADS, reverse=bool(turn % 2)):
            with _load_on(usable_cores()[0], load):
                records[load].append(_measure(profile, asked=tuple(asked)))
    frame = read_rounds([record for mine in records.values() for record in mine], papers)
    unseen = read_rounds([_unseen(record) for mine in records.values() for record in mine], papers)
    beside = {record.start.started: load for load, mine in records.items() for record in mine}
    loads, loads_unseen = frame["started"].map(beside), unseen["started"].map(beside)
    by_load = frame.groupby(loads)[["discarded", "blocks"]].sum()
    return {load: unseen[loads_unseen == load] for load in LOADS}, dict(by_load["discarded"] / by_load["blocks"])


def _unseen(record: Record) -> Record:
    """Return the record as if the kernel did not count the waiting for a core."""
    results = [
        result.model_copy(update={"blocks": tuple(replace(block, run_delay_seconds=None) for block in result.blocks)})
        for result in record.results
    ]
    return replace(record, results=tuple(results))


@contextlib.contextmanager
def _load_on(cpu: int, load: float) -> Iterator[None]:
    """Keep a CPU busy for this share of the time, in stretches as neighbours come and go."""
    loop = subprocess.Popen([sys.executable, "-c", BUSY_LOOP, str(cpu), str(load)]) if load else None
    try:
        yield
    finally:
        if loop:
            loop.kill()
            loop.wait()


def whole() -> None:
    """The RBM at 576x1024: 5,209 steps of one process, and the extrapolation of four rounds before and four after."""
    records = [_measure("torch-1") for _ in range(4)]
    before = read_rounds(records, PAPERS)["step_seconds"].dropna()
    if before.empty:
        sys.exit("no block of four rounds is clean: close other programs, or measure later")
    lasts = 5209 * float(before.mean())
    # In long blocks and samples: a line of a record has a largest size.
    long = _measure("torch-1", replace(REAL, measure_seconds=lasts, block_seconds=1.0, sample_seconds=0.1))
    records += [_measure("torch-1") for _ in range(4)]
    seconds = read_rounds(records, PAPERS)["step_seconds"].dropna()
    extrapolated = estimate_cell({0: list(seconds)}).value
    blocks = long.results[0].blocks
    ran = sum(block.seconds for block in blocks) / sum(block.steps for block in blocks)
    print(f"whole over extrapolated: {ran / extrapolated:.4f} ({len(seconds)} clean rounds)")


WHOLE = (Job(RBM.case("576x1024"), 1, "", RBM.smoke_cases),)


class _Unplanned(Progress):
    """Follows a turn that is in no plan: only a case without a time is said."""

    def __init__(self) -> None:
        super().__init__(print, print)

    def note(self, text: str) -> None:
        """Show nothing: no plan tells the time that is left."""

    def finish_case(self, record: Record) -> None:
        result = record.results[-1]
        if result.status != "measured":
            print(f"{record.profile}: {result.workload}: {result.status}: {result.reason}", flush=True)


def _measure(profile: str, timing: TimingProtocol = REAL, asked: tuple[Job, ...] = WHOLE) -> Record:
    """A round of the RBM at 576x1024, or of other cases, on that row; its file is thrown away."""
    row = find_rows({profile: PROFILES[profile]})[0][profile]
    order = Order(row.profile, row.threads, row.cpus, asked, timing, 2009)
    with machine_lock(None, print) as lock, tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        (record,) = measure_turn(order, "bench", smoke=False, lock=lock, progress=_Unplanned())
    return record


def corrected(clone: Path) -> None:
    """Three tests of the seconds at the quiet probe, on a clone's records; `busy` is the fourth.

    No cell lies below the fastest of its blocks; the noisier and the quieter half of a cell's rounds agree, as well as
    its earlier and later half; and quiet probes of every second process agree with those of the others.
    """
    with contextlib.chdir(clone):
        records = read_records(False, load_config().this_machine)
        papers = load_papers(load_config().papers)
        rounds = read_rounds(records, papers)
    rounds = rounds[rounds["step_seconds"].notna()].drop_duplicates("record")
    of_place = {place: (record, result) for record in records for place, result in record.places().items()}
    cells: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    for _, frame in rounds.groupby(CELL, observed=True):
        timed = list(rows_of(frame, Round))
        if len(timed) < 2:
            continue
        record, result = of_place[timed[0].record]
        kind = "as a product" if slope_of(record, result) == TOGETHER else "by items"
        cells[record.profile, kind].append(_tests_of(timed, [of_place[row.record][1] for row in timed]))
    for (profile, kind), tests in sorted(cells.items()):
        table = pd.DataFrame(tests)
        print(f"{profile}, {kind}: {len(table)} cells\n"
              f"  over its fastest block: {table.fastest.min():.3f} at least, median {table.fastest.median():.3f}, "
              f"{(table.fastest < 0.98).sum()} below 0.98, {table.beyond.sum():.0f} wholly\n"
              f"  noisier over quieter: {table.noisier.mean():+.3f} (rms {_rms(table.noisier):.3f}), as measured "
              f"{table.measured.mean():+.3f}; later over earlier: rms {_rms(table.later):.3f}")  # fmt: skip
    for product in sorted({(record.library, record.start.threads) for record in records}):
        alike = [record.probes for record in records if (record.library, record.start.threads) == product]
        halves = [find_quiet([*filter(None, alike[first::2])]) for first in (0, 1)]
        apart = abs(math.log(halves[0].seconds / halves[1].seconds))
        print(f"{product}: quiet probes of two halves of the processes are {apart:.1%} apart; "
              f"their error {math.hypot(halves[0].error, halves[1].error):.1%}")  # fmt: skip


def _tests_of(timed: Sequence[Any], results: Sequence[Result]) -> dict[str, float]:
    """Return what a cell's rounds say: logarithms of ratios, but for its time over that of its fastest block."""
    seconds = estimate_rounds(timed)
    blocks = [step_times([block], result.parts, Quiet(1.0), UNRELATED) for result in results for block in result.blocks]
    fastest = min(block.step_seconds or math.inf for block in blocks)
    logs = np.log([row.step_seconds for row in timed])
    measured = np.log([row.step_seconds_measured for row in timed])
    noise, half = np.argsort([row.slowness for row in timed]), len(timed) // 2
    return {
        "fastest": seconds.value / fastest,
        "beyond": float(seconds.is_below(fastest) and seconds.value < 0.98 * fastest),
        "noisier": float(logs[noise[-half:]].mean() - logs[noise[:half]].mean()),
        "measured": float(measured[noise[-half:]].mean() - measured[noise[:half]].mean()),
        "later": float(logs[-half:].mean() - logs[:half].mean()),
    }


def _rms(values: pd.Series) -> float:
    return float(np.sqrt((values**2).mean()))


def agree(first: Path, second: Path) -> None:
    """How far two runs on one machine agree: chance explains what is no larger than both intervals allow."""
    both = _beside(first, second, "cells")
    apart = _apart(both, "seconds")
    widths = [np.log(both[f"seconds_high_{n}"] / both[f"seconds_low_{n}"]) / 2 for n in (1, 2)]
    within = apart.abs() <= np.hypot(*widths)
    print(f"{within.sum()} of {len(both)} cells with intervals in both runs differ by no more than both allow")
    print(f"second over first: {math.exp(apart.quantile(0.05)):.3f} to {math.exp(apart.quantile(0.95)):.3f} "
          f"(5th to 95th percentile), median {math.exp(apart.median()):.3f}, rms {_rms(apart):.1%}")  # fmt: skip
    for _, row in both[~within].iterrows():
        print(f"  {row.experiment} {row.case} {row.profile}: {row.seconds_1:.4g}, {row.seconds_2:.4g}")
    ratios = _beside(first, second, "speedups")
    ratios = ratios[(ratios["verdict_1"] != "base") & (ratios["verdict_2"] != "base")]
    same = ratios["verdict_1"] == ratios["verdict_2"]
    print(f"{same.sum()} of {len(ratios)} speedups have the same verdict, rms {_rms(_apart(ratios, 'speedup')):.1%}")


def _beside(first: Path, second: Path, table: str) -> pd.DataFrame:
    """Return a table of two runs side by side, as far as both have intervals; columns end with _1 and _2."""
    value = {"cells": "seconds", "speedups": "speedup"}[table]
    frames = [pd.read_csv(folder / "results" / "tables" / f"{table}.csv") for folder in (first, second)]
    both = frames[0].merge(frames[1], on=CELL, suffixes=("_1", "_2"), validate="one_to_one")
    return both.dropna(subset=[f"{value}_low_1", f"{value}_low_2"])


def _apart(both: pd.DataFrame, value: str) -> pd.Series:
    return (both[f"{value}_2"] / both[f"{value}_1"]).map(math.log)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("coverage", "machines", "claims", "busy", "whole"):
        commands.add_parser(name)
    commands.add_parser("corrected").add_argument("clone", type=Path)
    two = commands.add_parser("agree")
    two.add_argument("first", type=Path)
    two.add_argument("second", type=Path)
    options = parser.parse_args()
    if options.command == "agree":
        agree(options.first, options.second)
    elif options.command == "corrected":
        corrected(options.clone)
    else:
        {"coverage": coverage, "machines": machines, "claims": claims, "busy": busy, "whole": whole}[options.command]()


if __name__ == "__main__":
    main()
