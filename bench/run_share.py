"""Which share of a run's wall time was measured: from the records that it left, nothing is run."""

import argparse
from collections import defaultdict
from datetime import datetime

from respeed.machine.description import machine_slug
from respeed.records.store import read_records


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--machine", default=None, help="whose records (default: this machine's)")
    parser.set_defaults(run=lambda options: print_shares(options.machine or machine_slug()))


def print_shares(machine: str) -> None:
    """For each profile and for all: seconds in timed blocks over seconds of its turns, start of the process included;
    and of the whole run, from its first round's start to its last one's end, what else passed between turns."""
    timed: dict[str, float] = defaultdict(float)
    wall: dict[str, float] = defaultdict(float)
    begins, ends = [], []
    for record in read_records(smoke=False, machine=machine):
        if record["id"]["whole"]:
            continue
        profile, seconds = record["profile"]["name"], record["wall_seconds"]
        timed[profile] += sum(sum(block["sample_seconds"]) for case in record["cases"] for block in case["blocks"])
        wall[profile] += seconds
        begins.append(datetime.fromisoformat(record["started"]).timestamp())
        ends.append(begins[-1] + seconds)
    if not wall:
        print(f"no records of {machine}")
        return
    for profile in sorted(wall):
        print(f"  {profile:<14} {timed[profile] / wall[profile]:.0%} of its turns in timed blocks")
    run = max(ends) - min(begins)
    print(
        f"  all            {sum(timed.values()) / sum(wall.values()):.0%} of the turns, "
        f"{sum(timed.values()) / run:.0%} of the run from its first round to its last ({run / 60:.1f} min)"
    )
