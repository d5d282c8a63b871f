"""Does building the report keep up with many machines? Prints ratios of seconds; minutes long, so no test.

./run python bench/report.py                          of 25, 50, 100 and 200 synthetic machines, over those of 25
./run python bench/report.py --machines 1 4           of other numbers of them, over the first
./run python bench/report.py --folder FOLDER          in this empty folder, which is kept with all that was built
./run python bench/report.py --records FOLDER         of the machines under this one, not results/records
./run python bench/report.py --stages tables          of these stages alone

A synthetic machine has all the records of the real one that has most of them, under a name of its own: its times are
scaled, and jittered round by round. Every second one has an accelerator besides; its rounds are those of PyTorch on
all cores, at a multiple of their speed. A record that is left out ends the comparison: it would cost no time.
"""

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from respeed.inputs.profiles import load_profiles
from respeed.measure.lock import machine_lock
from respeed.paths import RoundId, description_path, records_folder, round_path
from respeed.records.store import read_json, read_record, write_record
from respeed.timing.clock import seconds_now

ROOT = Path(__file__).resolve().parents[1]
MACHINES = (25, 50, 100, 200)
STAGES = ("tables", "figures", "report")
# What the report of LIMIT_MACHINES may take, seconds.
LIMIT_MACHINES, LIMIT_SECONDS = 200, 60.0
# By how much the speed of a machine may differ from the real one's, that of an accelerator from its CPU's, and a round.
SPEEDS, ACCELERATORS, JITTER = (0.2, 5.0), (5.0, 40.0), 0.01
DONOR, ACCELERATED, ACCELERATOR = "torch-all", "gpu", "an accelerator"


def add_machine(donor: Path, target: Path, number: int) -> None:
    """Write the records of synthetic machine `number` into the project folder `target`."""
    draw, machine = random.Random(number), machine_name(donor, number)
    speed = draw.uniform(*SPEEDS)
    accelerated = draw.uniform(*ACCELERATORS) if number % 2 else None
    for record in _records_of(donor):
        made = [_scaled(record, machine, speed * draw.gauss(1, JITTER))]
        if accelerated and record["id"]["profile"] == DONOR:
            made.append(_accelerated(_scaled(record, machine, accelerated * speed * draw.gauss(1, JITTER))))
        for one in made:
            if accelerated:
                one["provenance"]["machine"]["accelerators"] = [ACCELERATOR]
            write_record(target / round_path(RoundId(**one["id"])), one)
    sheet = read_json(donor / "machine.json")
    if accelerated:
        sheet = sheet | {"hardware": sheet["hardware"] | {"accelerators": [ACCELERATOR]}, "not_measurable": {}}
    write_record(target / description_path(machine, smoke=False), sheet | {"machine": machine})
    for path in donor.glob("*/*/learning.json"):
        learned = target / records_folder(smoke=False) / machine / path.relative_to(donor)
        write_record(learned, read_json(path) | {"machine": machine})


def machine_name(donor: Path, number: int) -> str:
    return f"{donor.name}-{number:03}"


def _paths_of(machine: Path) -> list[Path]:
    return sorted(machine.glob("*/*/*/*-[0-9][0-9].json"))


def _records_of(donor: Path) -> Iterator[dict[str, Any]]:
    for path in _paths_of(donor):
        yield read_record(path)


def _scaled(record: dict[str, Any], machine: str, speed: float) -> dict[str, Any]:
    """The record as a machine of that name would have written it that is `speed` times as fast."""
    ceilings = record["ceilings"] and {name: rate * speed for name, rate in record["ceilings"].items()}
    provenance = record["provenance"] | {"machine": dict(record["provenance"]["machine"])}
    cases = []
    for case in record["cases"]:
        blocks = [
            block | {name: _divided(block[name], speed) for name in block if name.endswith("_seconds") and block[name]}
            for block in case["blocks"]
        ]
        cases.append(case | {"blocks": blocks})
    where = record["id"] | {"machine": machine}
    return record | {"id": where, "provenance": provenance, "ceilings": ceilings, "cases": cases}


def _divided(seconds: Any, speed: float) -> Any:
    return [_divided(one, speed) for one in seconds] if isinstance(seconds, list) else seconds / speed


def _accelerated(record: dict[str, Any]) -> dict[str, Any]:
    """The record of a CPU as one of an accelerator."""
    profile = {name: value for name, value in asdict(load_profiles()[ACCELERATED]).items() if name in record["profile"]}
    record["provenance"]["backend"] = {"package": "torch", "library": "torch", "accelerator": ACCELERATOR}
    for case in record["cases"]:
        for block in case["blocks"]:
            block["threads_ran"] = None
    return record | {"id": record["id"] | {"profile": ACCELERATED}, "profile": profile, "threads": 1}


def build(folder: Path, machine: str, stages: Sequence[str]) -> dict[str, float]:
    """Seconds of each stage, as the rules of Snakemake call them: a process each, while nothing else measures."""
    paths = {"PYTHONPATH": str(ROOT / "workflow")}
    took = {}
    for stage in stages:
        command = [sys.executable, "-m", "respeed", stage, "--machine", machine]
        with machine_lock():
            start = seconds_now()
            done = subprocess.run(
                command, cwd=folder, env={**os.environ, **paths}, text=True, capture_output=True, check=False
            )
            took[stage] = seconds_now() - start
        if done.returncode or "left out" in done.stderr:
            sys.exit(f"{done.stderr}respeed: {stage} failed, or has not all records")
    return took | {"all": sum(took.values())}


def compare(folder: Path, records: Path, numbers: Sequence[int], stages: Sequence[str]) -> None:
    """Build the report of more and more machines in `folder`, made of one under `records`, and print how much longer
    each stage takes."""
    donors = [path.parent for path in records.glob("*/machine.json")]
    donor = max(donors, key=lambda path: len(_paths_of(path)), default=None)
    if donor is None:
        sys.exit(f"respeed: no machine under {records} to make others of; measure first: ./run snakemake")
    (folder / "report").mkdir(parents=True, exist_ok=True)
    for template in (ROOT / "report").glob("*.typ"):
        shutil.copy(template, folder / "report")
    first: dict[str, float] = {}
    there = 0
    for number in sorted(numbers):
        for index in range(there, number):
            add_machine(donor, folder, index + 1)
        there = number
        took = build(folder, machine_name(donor, 1), stages)
        first = first or took
        times = ", ".join(f"{stage} {took[stage] / first[stage]:.2f}" for stage in took)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        print(f"{number} machines, over {min(numbers)} ({number / min(numbers):g} times as many): {times}; "
              f"at most {peak:.2f} GiB in a process", flush=True)  # fmt: skip
        if number == LIMIT_MACHINES:
            kept = "yes" if took["all"] <= LIMIT_SECONDS else "no"
            print(f"{number} machines within {LIMIT_SECONDS:g} s: {kept}, {took['all'] / LIMIT_SECONDS:.2f} of them")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, nargs="+", default=MACHINES)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--records", type=Path, default=ROOT / records_folder(smoke=False))
    parser.add_argument("--stages", choices=STAGES, nargs="+", default=STAGES)
    options = parser.parse_args()
    what = options.records.resolve(), options.machines, options.stages
    if options.folder:
        compare(options.folder.resolve(), *what)
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder), *what)


if __name__ == "__main__":
    main()
