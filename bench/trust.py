"""How far can the numbers be trusted? Prints figures; minutes long, so no test.

./run python bench/trust.py coverage                  simulated, and from the records under results/records; a copy of a
                                                      hardware file as <name>-again.yaml adds cells measured twice
./run python bench/trust.py busy                      a busy loop beside a measurement on all cores
./run python bench/trust.py whole                     an extrapolated total against a run of every step
./run python bench/trust.py agree FIRST SECOND        two results/tables/cells.csv of the same machine
"""

import argparse
import math
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from respeed.measure.parent import measure_spec
from respeed.model.round import RoundId, RoundSpec
from respeed.plan.spec import make_spec
from respeed.record.files import read_records
from respeed.tables.rounds import CellRounds, collect_rounds
from respeed.tables.speedups import round_speedup
from respeed.tables.statistics import estimate_median

TRIALS = 4000
BUSY_RUNS = 20


def coverage() -> None:
    """Share of printed 95 % intervals that hold the truth, and of A/A comparisons that claim a difference."""
    draw = random.Random(2009)
    print("simulated, process-to-process lognormal noise with 5 % of processes 20 % slower")
    for rounds in (7, 12, 20, 25):
        noisy = [[_process(draw) - _process(draw) for _ in range(rounds)] for _ in range(TRIALS)]
        covered = sum(_holds(logs, 0.0) for logs in noisy)
        print(
            f"  {rounds} rounds: covers {covered / TRIALS:.1%}, A/A claims a difference in {1 - covered / TRIALS:.1%}"
        )
    pairs = _real_pairs()
    if not pairs:
        print("no records under results/records to resample")
        return
    print(f"resampled from {len(pairs)} pairs of real interleaved cells")
    covered = trials = claims = comparisons = 0
    for one, other in pairs:
        logs = [math.log(one.times[r].median / other.times[r].median) for r in one.times.keys() & other.times.keys()]
        truth = estimate_median(logs).value
        for _ in range(max(1, TRIALS // len(pairs))):
            covered += _holds([draw.choice(logs) for _ in range(7)], truth)
            trials += 1
        times = [math.log(time.median) for time in one.times.values()]
        for _ in range(max(1, 200 // len(pairs)) + 1):
            claims += not _holds([draw.choice(times) - draw.choice(times) for _ in range(7)], 0.0)
            comparisons += 1
    print(f"  covers {covered / trials:.1%} of {trials}; A/A claims a difference in {claims} of {comparisons}")
    _report_real_twins()


def _report_real_twins() -> None:
    """Profiles that were really measured twice: a copy of a hardware file under the name <profile>-again."""
    cells = collect_rounds(read_records(smoke=False))
    twins = [
        round_speedup(cells[twin], cell)
        for key, cell in cells.items()
        if (twin := key._replace(profile=key.profile.removesuffix("-again"))) != key and twin in cells
    ]
    proved = [one for one in twins if one.low is not None and one.high is not None]
    claims = sum(not one.low <= 1 <= one.high for one in proved if one.low and one.high)
    widest = max((abs(math.log(one.value)) for one in twins), default=0.0)
    print(
        f"measured twice: claims a difference in {claims} of {len(proved)} cells; largest ratio {math.exp(widest):.3f}"
    )


def _process(draw: random.Random) -> float:
    return draw.gauss(0, 0.03) + (math.log(1.2) if draw.random() < 0.05 else 0.0)


def _holds(logs: list[float], truth: float) -> bool:
    estimate = estimate_median(logs)
    return estimate.low is not None and estimate.high is not None and estimate.low <= truth <= estimate.high


def _real_pairs() -> list[tuple[CellRounds, CellRounds]]:
    cells = collect_rounds(read_records(smoke=False))
    pairs = []
    for key, cell in cells.items():
        other = cells.get(key._replace(profile=key.profile.replace("torch", "openblas")))
        if other is not None and other is not cell and len(cell.times.keys() & other.times.keys()) >= 7:
            pairs.append((cell, other))
    return pairs


def busy() -> None:
    """Twenty measurements on all cores beside a busy loop: each within 5 % of quiet, or flagged."""
    spec = _one_case("torch-all", "576x1024")
    quiet = [_median(measure_spec(replace(spec, id=replace(spec.id, index=index + 1)))) for index in range(5)]
    baseline = estimate_median([time for time in quiet if time]).value
    texts = [f"{1e3 * time:.3g}" if time else "flagged" for time in quiet]
    print(f"quiet: {baseline * 1e3:.3g} ms a step ({', '.join(texts)})")
    good = 0
    for index in range(BUSY_RUNS):
        loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            time = _median(measure_spec(replace(spec, id=replace(spec.id, index=index + 1))))
        finally:
            loop.kill()
            loop.wait()
        honest = time is None or abs(time / baseline - 1) <= 0.05
        good += honest
        found = "flagged" if time is None else f"{time / baseline:.3f} of quiet"
        print(f"  {index + 1}: {found}{'' if honest else '  WRONG'}")
    print(f"within 5 % of quiet or flagged: {good} of {BUSY_RUNS}")


def whole() -> None:
    """The RBM at 576x1024: 5,209 steps run whole, and extrapolated from four rounds before and four after."""
    spec = _one_case("torch-1", "576x1024")
    rounds = [replace(spec, id=replace(spec.id, index=index)) for index in range(1, 9)]
    records = [measure_spec(one) for one in rounds[:4]]
    full = measure_spec(replace(spec, id=replace(spec.id, whole=True), whole_steps=(5209,)))
    records += [measure_spec(one) for one in rounds[4:]]
    (cell,) = collect_rounds([*records, full]).values()
    extrapolated = estimate_median([5209 * time.mean for time in cell.times.values()]).value
    assert cell.whole_seconds is not None
    print(f"whole over extrapolated: {cell.whole_seconds / extrapolated:.4f} ({len(cell.times)} clean rounds)")


def _one_case(profile: str, case: str) -> RoundSpec:
    spec = make_spec(RoundId("bench", "raina2009", "rbm", profile, 1), seed=2009)
    return replace(spec, cases=tuple(one for one in spec.cases if one.name == case))


def _median(record: dict[str, Any]) -> float | None:
    """Seconds a step of a round by itself; None if all of its blocks were discarded."""
    (cell,) = collect_rounds([record]).values()
    return next(iter(cell.times.values())).median if cell.times else None


def agree(first: Path, second: Path) -> None:
    """Share of cells of two runs on one machine whose intervals overlap."""
    keys = ["machine", "paper", "experiment", "case", "algorithm", "profile"]
    both = pd.read_csv(first).merge(pd.read_csv(second), on=keys, suffixes=("_1", "_2"), validate="one_to_one")
    both = both.dropna(subset=["seconds_low_1", "seconds_low_2"])
    overlap = (both.seconds_low_1 <= both.seconds_high_2) & (both.seconds_low_2 <= both.seconds_high_1)
    ratio = both.seconds_2 / both.seconds_1
    print(f"{overlap.sum()} of {len(both)} cells with intervals in both runs agree ({overlap.mean():.0%})")
    print(
        f"ratio of the two medians: {ratio.quantile(0.05):.3f} to {ratio.quantile(0.95):.3f} (5th to 95th percentile)"
    )
    for _, row in both[~overlap].iterrows():
        print(f"  {row.experiment} {row.case} {row.profile}: {row.seconds_1:.4g}, {row.seconds_2:.4g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("coverage", "busy", "whole"):
        commands.add_parser(name)
    two = commands.add_parser("agree")
    two.add_argument("first", type=Path)
    two.add_argument("second", type=Path)
    options = parser.parse_args()
    if options.command == "agree":
        agree(options.first, options.second)
    else:
        {"coverage": coverage, "busy": busy, "whole": whole}[options.command]()


if __name__ == "__main__":
    main()
