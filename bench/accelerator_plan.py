"""What a run takes on a machine that is not here, by parts: the real plan, turn after turn, at the prices of a model.

./run python bench/accelerator_plan.py            quick, an accelerator of 50 TFLOP/s in fp32, a host of 16 cores
./run python bench/accelerator_plan.py --preset paper --tflops 8 --cores 4

The model: a process starts, its libraries with it; a case is drawn, built, copied and checked on one thread of the host
(seconds a gigabyte that the program takes; 0.85 were seen here of CPU rows), warms up, is timed, and on an accelerator
runs once a session for its counter of energy. What a step takes is its operations over the row's rate.
"""

import argparse
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tabulate import tabulate

from respeed.analysis.rounds import CellKey
from respeed.inputs.config import load_config
from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import Profile, load_profiles
from respeed.model.paper import Case
from respeed.protocol import REAL
from respeed.schedule.next_turn import Plan
from respeed.schedule.selection import make_work
from respeed.workloads import load_workload

NAMES = ("openblas-1", "openblas-all", "torch-1", "torch-all", "gpu", "gpu-tf32", "gpu-bf16", "gpu-fp16")
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
PARTS = ("start", "host", "warm-up", "timed", "energy")
# Of a process: of SciPy and torch as seen here, and a guess for a context, a probe, ceilings and kernels on a device.
START = {"openblas": 0.9, "torch": 2.0, "device": 8.0}
# Drawn, built and checked; on a device also copied there, and back for the check and once more after the steps.
HOST_SECONDS_PER_GBYTE, DEVICE_SECONDS_PER_GBYTE = 0.85, 2.0
# Of a case: capture, collection of what the last one left, queries of the driver.
CASE_SECONDS, ENERGY_SECONDS = 0.1, 1.1
# What other precisions do, as a multiple of fp32, on accelerators with units for them.
RATES = {"fp32": 1.0, "tf32": 8.0, "bf16": 14.0, "fp16": 14.0}
# A case whose operations nobody counts (sparse coding): a step of it here, on all cores and on a device alike.
UNCOUNTED_SECONDS = 0.8


def case_parts(case: Case, profile: Profile, asked: argparse.Namespace, is_first: bool) -> dict[str, float]:
    """Seconds of each part of a case."""
    workload = load_workload(case.workload)
    rate = asked.tflops * 1e12 * RATES[profile.precision]
    if profile.is_cpu:
        rate = asked.core_gflops * 1e9 * (1 if profile.threads == 1 else asked.cores)
    flops = workload.flops(case)
    step = flops / rate if flops else UNCOUNTED_SECONDS
    per_gbyte = HOST_SECONDS_PER_GBYTE if profile.is_cpu else DEVICE_SECONDS_PER_GBYTE
    is_long = step > REAL.block_seconds
    return {
        "host": CASE_SECONDS + per_gbyte * workload.memory_bytes(case) / 1e9,
        "warm-up": 0.0 if is_long else 1.5 * REAL.warmup_seconds + step,
        "timed": step if is_long else REAL.block_seconds + REAL.warmup_window_seconds + 0.04,
        "energy": ENERGY_SECONDS if is_first and not profile.is_cpu else 0.0,
    }


@dataclass
class Run:
    """`spent` are the seconds of each row, by part; `first_table` of those that it took until the first table."""

    plan: Plan
    told: float
    spent: dict[str, dict[str, float]]
    turns: int = 0
    first_table: float = 0.0

    @property
    def seconds(self) -> float:
        return sum(sum(parts.values()) for parts in self.spent.values())


def simulate(asked: argparse.Namespace) -> Run:
    """The whole run, as a session on such a machine would measure it."""
    papers, profiles = load_papers([asked.paper]), load_profiles()
    config = replace(load_config(overrides={"preset": asked.preset, "papers": [asked.paper]}), profiles=NAMES)
    plan = Plan(make_work(config, papers, profiles, "model", lambda profile: None))
    run, seen = Run(plan, plan.seconds_left(), {name: dict.fromkeys(PARTS, 0.0) for name in NAMES}), set[CellKey]()
    while turn := plan.next_turn():
        profile, now = profiles[turn.profile], BEGIN + timedelta(seconds=run.seconds)
        start = START[profile.backend if profile.is_cpu else "device"]
        run.spent[profile.name]["start"] += start
        for round_id, cases in plan.rounds_of(turn).items():
            made = []
            for case in cases:
                key = CellKey("", round_id.paper, round_id.experiment, case.name, case.workload, profile.name)
                parts = case_parts(case, profile, asked, key not in seen)
                seen.add(key)
                for part, seconds in parts.items():
                    run.spent[profile.name][part] += seconds
                made.append(_record_of(case, sum(parts.values()), NAMES.index(profile.name), turn.number))
            plan.add({
                "id": asdict(round_id), "profile": asdict(profile), "digest": "", "threads": 1,
                "started": now.isoformat(), "wall_seconds": math.fsum(one["wall_seconds"] for one in made) + start,
                "start_seconds": start, "ceilings": None, "provenance": {}, "cases": made,
            })  # fmt: skip
            start = 0.0  # of the first round alone
        run.turns += 1
        if not plan.left_of_first_table:
            run.first_table = run.first_table or run.seconds
    return run


def _record_of(case: Case, wall: float, place: int, number: int) -> dict[str, Any]:
    """Rows apart from one another, and rounds near: nothing is left to settle."""
    block = {
        "sample_steps": 1, "sample_seconds": [(1 + place) * (1 + 0.001 * (number % 3))],
        "probe_seconds": [0.004] * 2, "run_delay_seconds": 0.0, "threads_ran": 1, "minor_faults": 0,
        "quota_throttles": 0, "clock_throttles": None,
    }  # fmt: skip
    return {
        "case": case.name, "workload": case.workload, "parameters": dict(case.parameters), "flops": 1.0,
        "traffic_bytes": 1.0, "status": "measured", "reason": None, "errors": {},
        "warmup": {"settled": True}, "blocks": [block], "wall_seconds": wall,
    }  # fmt: skip


def options(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="quick")
    parser.add_argument("--paper", default="raina2009")
    parser.add_argument("--tflops", type=float, default=50.0)
    parser.add_argument("--core-gflops", type=float, default=100.0)
    parser.add_argument("--cores", type=int, default=16)
    return parser.parse_args(words)


def main() -> None:
    run = simulate(options())
    rows = [[name, *parts.values(), sum(parts.values())] for name, parts in run.spent.items()]
    rows.append(["all", *(sum(row[place] for row in rows) for place in range(1, len(PARTS) + 2))])
    print(tabulate(rows, ["seconds", *PARTS, "all"], floatfmt=".0f"))
    print(f"\n{run.turns} turns; first table after {run.first_table:.0f} s; told at first: {run.told / 60:.0f} min")
    counts = Counter((cell.profile, run.plan.attempts(cell)) for cell in run.plan.work.cells)
    for name in NAMES:
        rounds = ", ".join(f"{counts[one]} cells {one[1]}" for one in sorted(counts) if one[0] == name)
        print(f"rounds of {name}: {rounds}")


if __name__ == "__main__":
    main()
