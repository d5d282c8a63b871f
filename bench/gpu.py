"""All that a GPU can tell in ten minutes, in the order in which it is missed, for a machine that is lent by the minute.

./run python bench/gpu.py                    with what is installed, and no network
./run python bench/gpu.py --minutes 20
./run python bench/gpu.py --smoke            at tiny sizes, to try the script itself: its times mean nothing

Tiny cases on every row first, each checked against float64; then a profiled step of each RBM on every row; then tables
by `respeed measure --budget`: what was never measured on a GPU, the first table with the CPU's rows, other precisions,
the kernels of Lee et al., and nets. A part that ends early leaves its time to those after it. Records, profiles and
what the commands said are copied to the folder --out after every part (default: $OUT, else results/bench/gpu). What is
printed fits a screen.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paired import in_fresh_process

from respeed.analysis.columns import rows_of
from respeed.analysis.tables import Speedup
from respeed.backends import make_backend
from respeed.inputs.config import load_config
from respeed.inputs.machines import Profile, load_profile, load_profiles
from respeed.inputs.papers import load_paper
from respeed.machine.devices import accelerator_names
from respeed.machine.process import Facts
from respeed.measure.order import Job
from respeed.measure.replay import profile_case
from respeed.measure.timing import best_seconds, seconds_now
from respeed.model import Experiment
from respeed.output import read_tables
from respeed.paths import records_folder
from respeed.records import read_records
from respeed.schedule.rows import find_rows
from respeed.text import format_share, format_speedup, measured_time
from respeed.workloads import make_workload

# An interval needs so many.
ROUNDS = 3
WIDTH = 96
# After its budget a command may take so long to end; whoever lends the machine ends it then.
GRACE_SECONDS = 20.0
# Less is not worth the start of a process.
LEAST_SECONDS = 5.0
PAPERS = ("raina2009", "lee2010", "machine", "bergstra2010", "lectures")


@dataclass(frozen=True)
class Part:
    """A part of the minutes: what to measure, by words of --only, on which kinds of rows."""

    name: str
    minutes: float
    only: Sequence[str] = ()
    kinds: Sequence[str] = ("gpu",)


CONFORMANCE = Part("tiny cases, checked", 1.0, ("raina2009/", "lee2010/"), ("gpu", "other"))
PROFILES = Part("profiled steps", 1.0, (), ("gpu", "other"))
PARTS = (
    CONFORMANCE,
    PROFILES,
    Part("sparse coding, network, copies", 2.0, ("raina2009/sparse-coding/", "raina2009/dbn/", "machine/crossings/")),
    Part("RBMs, patches, CPU's rows", 2.5, ("raina2009/rbm/", "raina2009/patches/"), ("gpu", "cpu")),
    Part("RBMs in other precisions", 1.0, ("raina2009/rbm/",), ("other",)),
    Part("kernels of Lee et al.", 1.5, ("lee2010/",), ("gpu", "cpu", "fp64")),
    Part("convolutional nets", 1.0, ("bergstra2010/conv/", "lectures/digits/")),
)


def rows_by_kind() -> tuple[dict[str, list[str]], str]:
    """The rows that this machine can run, by kind, and why it cannot run a GPU's.

    "gpu" is the GPU's row in fp32, "other" its rows in other precisions or by other programs, "cpu" the rows of all
    cores, which are the base, and "fp64" those of both in double precision.
    """
    rows, why_not = find_rows(load_profiles())
    kinds: dict[str, list[str]] = {"gpu": [], "other": [], "cpu": [], "fp64": []}
    for name, row in rows.items():
        if kind := _kind(row.profile):
            kinds[kind].append(name)
    # The first is ours; an optional one is another program's.
    kinds["gpu"].sort(key=lambda name: (load_profile(name).optional, name))
    kinds["other"] = [*kinds["gpu"][1:], *kinds["other"]]
    del kinds["gpu"][1:]
    return kinds, why_not.get("gpu", "")


def _kind(profile: Profile) -> str:
    if profile.backend == "program" or profile.architecture == "single-cpu":
        return ""
    if profile.precision == "fp64":
        return "fp64"
    if profile.is_cpu:
        return "" if profile.optional else "cpu"
    return "gpu" if profile.precision == "fp32" else "other"


@dataclass
class Script:
    """The run: its options, the rows by kind, and when it began."""

    minutes: float
    out: Path
    smoke: bool
    rows: dict[str, list[str]]
    began: float

    @property
    def remaining(self) -> float:
        """Seconds that are left."""
        return 60 * self.minutes - (seconds_now() - self.began)

    def run(self) -> None:
        """Run all parts, each in its share of the time that is left, and say what came out."""
        say(f"{'part':<32}{'minutes':>8}{'left':>7}{'measured':>10}{'failed':>8}  why")
        for number, part in enumerate(PARTS):
            share = part.minutes / sum(later.minutes for later in PARTS[number:])
            began = seconds_now()
            before = self.count(part)
            reason = self.take(part, share * self.remaining)
            states = self.count(part) - before
            failed = states["failed"] + states["wrong"]
            minutes = (seconds_now() - began) / 60
            numbers = f"{minutes:>8.1f}{self.remaining / 60:>7.1f}{states['measured']:>10}{failed:>8}"
            say(f"{part.name:<32}{numbers}  {reason}")
            self.bring_home()
        for line in self.speedups():
            say(line)
        say("records, profiles.json and log.txt are in")
        say(str(self.out))

    def take(self, part: Part, seconds: float) -> str:
        """Run a part, and return why it has nothing; empty if it has."""
        rows: list[str] = []
        for kind in part.kinds:
            rows += self.rows[kind]
        if not rows:
            return "no row here"
        if seconds < LEAST_SECONDS:
            return "no time left"
        if part is PROFILES:
            return self.profile(rows, seconds)
        papers = ",".join(sorted({word.partition("/")[0] for word in part.only}, key=PAPERS.index))
        preset = ["preset=smoke"] if self.smoke or part is CONFORMANCE else []
        rounds = [] if preset else ["--rounds", str(ROUNDS)]
        return self.command(
            "measure", "--budget", f"{seconds:.0f}s", "--only", *part.only, "--profiles", *rows, *rounds,
            "--config", f"papers={papers}", *preset, seconds=seconds,
        )  # fmt: skip

    def command(self, *arguments: str, seconds: float) -> str:
        """Run a command of respeed, whose lines go to the log; it is interrupted if it does not end in time."""
        with (self.out / "log.txt").open("a", encoding="utf-8") as log:
            print("\n$ respeed", *arguments, file=log, flush=True)
            process = subprocess.Popen(
                [sys.executable, "-m", "respeed.cli", *arguments], stdout=log, stderr=subprocess.STDOUT
            )
            try:
                code = process.wait(max(LEAST_SECONDS, min(seconds + GRACE_SECONDS, self.remaining)))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                process.wait()
                return "stopped at its end"
        # 75 is what a budget leaves.
        return "" if code in (0, 1, 75) else f"exit code {code}: see log.txt"

    def profile(self, rows: Sequence[str], seconds: float) -> str:
        """Profile a step of each RBM on these rows in a process of its own, and say what the GPU's row showed."""
        smoke = ["--smoke"] if self.smoke else []
        try:
            text = in_fresh_process(["--profile", *rows, "--seconds", f"{seconds:.0f}", *smoke], 1, subprocess.PIPE)
        except subprocess.CalledProcessError as error:
            return f"exit code {error.returncode}"
        profiles = [json.loads(line) for line in text.splitlines() if line.startswith('{"row":')]
        (self.out / "profiles.json").write_text(json.dumps(profiles, indent=1), "utf-8")
        for facts in profiles:
            if facts["row"] in self.rows["gpu"]:
                say(f"  {say_profile(facts)}"[:WIDTH])
        return f"{len(profiles)} profiles" if profiles else "no profile"

    def count(self, part: Part) -> Counter[str]:
        """How many results of this machine there are, by status."""
        smoke = self.smoke or part is CONFORMANCE
        records = read_records(smoke, load_config().this_machine)
        return Counter(result.status for record in records for result in record.results)

    def bring_home(self) -> None:
        """Copy this machine's records, tiny ones apart, to the folder that comes home."""
        machine = load_config().this_machine
        for smoke, name in ((False, "records"), (True, "smoke")):
            folder = records_folder(smoke) / machine
            if folder.is_dir():
                shutil.copytree(folder, self.out / name / machine, dirs_exist_ok=True)

    def speedups(self) -> Iterator[str]:
        """Lines of the first table: the GPU over the fastest row of all CPU cores."""
        rows = self.rows["gpu"]
        tables = read_tables(self.smoke, [load_config().this_machine], PAPERS[:1])
        for row in rows_of(tables["speedups"], Speedup):
            if row.experiment == "rbm" and row.profile in rows and row.speedup:
                interval = ""
                if row.speedup_low and row.speedup_high:
                    interval = f" ({format_speedup(row.speedup_low)} to {format_speedup(row.speedup_high)})"
                line = f"  {row.case:<12} {format_speedup(row.speedup)} as fast as {row.base_profile}{interval}"
                published = f"; published {format_speedup(row.published)}" if row.published else ""
                yield f"{line}{published}"[:WIDTH]


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def say_profile(facts: Facts) -> str:
    """A line of one profiled step: its time, its kernels, how busy the device was, and what took longest."""
    line = f"{facts['case']:<12}{measured_time(facts['step_seconds'], None, None).text:>9} a step"
    if "kernels" not in facts:
        return f"{line}, not profiled: {facts['reason']}"
    longest = facts["longest"][0]["name"]
    return f"{line}, {facts['kernels']:>2} kernels, busy {format_share(facts['busy_share'] or 0)}, longest {longest}"


def profile_rows(names: Sequence[str], seconds: float, *, smoke: bool) -> None:
    """Print a line of JSON for each RBM on each row: a profiled step, and the time of a step. In a fresh process."""
    began = seconds_now()
    experiment = load_paper("raina2009").experiments["rbm"]
    for name in names:
        profile = load_profile(name)
        try:
            for facts in profile_row(profile, experiment, smoke=smoke):
                say(json.dumps({"row": name} | facts))
                if seconds_now() - began > seconds:
                    return
        except Exception as error:  # of one row: the others are tried
            print(f"{name}: {error}", file=sys.stderr)


def profile_row(profile: Profile, experiment: Experiment, *, smoke: bool) -> Iterator[Facts]:
    """The profiled steps of a table's cases on a row, each with the seconds of a step, which is timed first."""
    made = make_backend(profile.backend, device=profile.device, precision=profile.precision, threads=1, seed=1)
    for case in experiment.smoke_cases if smoke else experiment.cases:
        program: Any = made.build(make_workload(case), 0)
        taken = best_seconds(program.step, made.sync, synchronous=made.synchronous)
        del program
        facts = profile_case(Job(case, 1, ""), made)
        if facts is not None:
            yield {"case": case.name, "step_seconds": taken} | facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT") or "results/bench/gpu"))
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--profile", nargs="+", metavar="ROW", help="profile steps in this process")
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    if options.profile:
        profile_rows(options.profile, options.seconds, smoke=options.smoke)
        return
    began = seconds_now()
    rows, why_not = rows_by_kind()
    if not rows["gpu"]:
        sys.exit(f"bench/gpu.py: no row of a GPU can run here: {why_not}; ./run respeed doctor says more")
    options.out.mkdir(parents=True, exist_ok=True)
    script = Script(options.minutes, options.out.resolve(), options.smoke, rows, began)
    say(f"{', '.join(accelerator_names()) or 'a GPU'}: {options.minutes:g} minutes"[:WIDTH])
    script.run()


if __name__ == "__main__":
    main()
