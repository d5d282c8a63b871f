"""How far can the numbers be trusted? Prints figures; minutes long, so no test.

./run python bench/trust.py coverage                  simulated machines with known true times, through the real tables
./run python bench/trust.py machines                  equal machines beside one another, and cells of two sessions
./run python bench/trust.py claims                    true and false claims of every kind, on machines of known ratios
./run python bench/trust.py busy                      a busy loop beside a measurement on all cores
./run python bench/trust.py whole                     an extrapolated total against a run of every step
./run python bench/trust.py agree FIRST SECOND        two results/tables/cells.csv of the same machine
"""

import argparse
import contextlib
import math
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pandas as pd
from simulated import CLAIMS, PAPERS, PROFILES, RBM, SCENARIOS, Noise, simulate, simulate_alike, simulate_claim

from respeed.analysis.claims import NOT_SETTLED, REPRODUCED
from respeed.analysis.estimates import estimate_values
from respeed.analysis.rounds import read_rounds
from respeed.machine.process import machine_lock
from respeed.measure.order import Asked, Order
from respeed.measure.turn import measure_turn
from respeed.protocol import REAL, TimingProtocol
from respeed.records import Record
from respeed.schedule.rows import resolve_row

MACHINES, COHORTS, CLAIM_MACHINES = 400, 40, 1000
BUSY_RUNS = 20
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
    for process, session, number in (
        (0.02, 0.0, 8),
        (0.04, 0.0, 8),
        (0.04, 0.0, 2),
        (0.01, 0.04, 2),
        (0.01, 0.04, 8),
        (0.01, 0.06, 8),
    ):
        noise = Noise("shared", spreads=(0.01,) * 4, process=process, session=session)
        for rounds in (6, 12, 20):
            slower = simulate_alike(noise, number, rounds, COHORTS)
            print(f"a round {process:.0%}, a session {session:.0%}, {number} machines, {rounds} rounds: "
                  f"a case slower in {slower:.0%}", flush=True)  # fmt: skip
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
    """Twenty measurements on all cores beside a busy loop: each within 5 % of quiet, or flagged."""
    quiet = [_median(_measure("torch-all")) for _ in range(5)]
    baseline = estimate_values([time for time in quiet if time]).value
    texts = [f"{1e3 * time:.3g}" if time else "flagged" for time in quiet]
    print(f"quiet: {baseline * 1e3:.3g} ms a step ({', '.join(texts)})")
    good = 0
    for index in range(BUSY_RUNS):
        loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            time = _median(_measure("torch-all"))
        finally:
            loop.kill()
            loop.wait()
        honest = time is None or abs(time / baseline - 1) <= 0.05
        good += honest
        found = "flagged" if time is None else f"{time / baseline:.3f} of quiet"
        print(f"  {index + 1}: {found}{'' if honest else '  WRONG'}")
    print(f"within 5 % of quiet or flagged: {good} of {BUSY_RUNS}")


def whole() -> None:
    """The RBM at 576x1024: 5,209 steps of one process, and the extrapolation of four rounds before and four after."""
    records = [_measure("torch-1") for _ in range(4)]
    lasts = 5209 * read_rounds(records, PAPERS)["step_seconds"].mean()
    long = _measure("torch-1", replace(REAL, measure_seconds=lasts))
    records += [_measure("torch-1") for _ in range(4)]
    seconds = read_rounds(records, PAPERS)["step_seconds"].dropna()
    extrapolated = estimate_values(list(seconds)).value
    blocks = long.results[0].blocks
    ran = sum(block.seconds for block in blocks) / sum(block.steps for block in blocks)
    print(f"whole over extrapolated: {ran / extrapolated:.4f} ({len(seconds)} clean rounds)")


def _measure(profile: str, timing: TimingProtocol = REAL) -> Record:
    """A round of the RBM at 576x1024 on that row; its file is thrown away."""
    row, asked = resolve_row(PROFILES[profile]), Asked(RBM.case("576x1024"), 1, "", RBM.smoke_cases)
    order = Order(row.profile, row.threads, row.cpus, (asked,), timing, 2009)
    with machine_lock() as lock, tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        (record,) = measure_turn(order, "bench", smoke=False, lock=lock)
    return record


def _median(record: Record) -> float | None:
    """Seconds a step of a round by itself; None if all of its blocks were discarded."""
    (seconds,) = read_rounds([record], PAPERS)["step_seconds"]
    return None if math.isnan(seconds) else float(seconds)


def agree(first: Path, second: Path) -> None:
    """How far two runs on one machine agree: chance explains what is no larger than both intervals allow."""
    keys = ["machine", "paper", "experiment", "case", "algorithm", "profile"]
    both = pd.read_csv(first).merge(pd.read_csv(second), on=keys, suffixes=("_1", "_2"), validate="one_to_one")
    both = both.dropna(subset=["seconds_low_1", "seconds_low_2"])
    apart = (both.seconds_2 / both.seconds_1).map(math.log)
    widths = [(both[f"seconds_high_{n}"] / both[f"seconds_low_{n}"]).map(math.log) / 2 for n in (1, 2)]
    within = apart.abs() <= (widths[0] ** 2 + widths[1] ** 2) ** 0.5
    print(f"{within.sum()} of {len(both)} cells with intervals in both runs differ by no more than both allow")
    print(f"second over first: {math.exp(apart.quantile(0.05)):.3f} to {math.exp(apart.quantile(0.95)):.3f} "
          f"(5th to 95th percentile), median {math.exp(apart.median()):.3f}")  # fmt: skip
    for _, row in both[~within].iterrows():
        print(f"  {row.experiment} {row.case} {row.profile}: {row.seconds_1:.4g}, {row.seconds_2:.4g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("coverage", "machines", "claims", "busy", "whole"):
        commands.add_parser(name)
    two = commands.add_parser("agree")
    two.add_argument("first", type=Path)
    two.add_argument("second", type=Path)
    options = parser.parse_args()
    if options.command == "agree":
        agree(options.first, options.second)
    else:
        {"coverage": coverage, "machines": machines, "claims": claims, "busy": busy, "whole": whole}[options.command]()


if __name__ == "__main__":
    main()
