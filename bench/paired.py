"""What the comparisons share: a process for each number of threads, and ratios of times taken in turns."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping

from respeed.analysis.estimates import FEWEST_ROUNDS, estimate_cell
from respeed.machine.cpu import usable_cores
from respeed.machine.process import bind, child_environment, machine_lock
from respeed.measure.timing import seconds_now

PAIRS = 15
# A run of one contestant lasts at least so long, in as many steps as that takes.
RUN_SECONDS = 0.05

Step = Callable[[], object]
# Compares on so many threads, and prints what came out.
Comparison = Callable[[int], None]


def compare(name: str, comparisons: Mapping[str, Comparison], threads: int | None) -> None:
    """Make a comparison in this process, which has the environment for `threads`; without, one process for each number
    of threads."""
    if threads:
        bind_to(threads)
        comparisons[name](threads)
    else:
        on_one_and_all_threads([name])


def on_one_and_all_threads(arguments: list[str]) -> None:
    """Run this script again for one thread and for all cores, each in the environment of a measurement."""
    for threads in sorted({1, len(usable_cores())}):
        print(f"{' '.join(arguments)} on {threads} of {os.cpu_count()} cores", flush=True)
        in_fresh_process([*arguments, "--threads", str(threads)], threads)


def in_fresh_process(arguments: list[str], threads: int, output: int | None = None) -> str:
    """Run this script again in the environment of a measurement on so many threads, while nothing else measures on the
    machine. What it printed, if `output` is subprocess.PIPE."""
    command = [sys.executable, sys.argv[0], *arguments]
    with machine_lock(None, print) as lock:
        done = subprocess.run(
            command, env=child_environment(threads), check=True, stdout=output, text=True, pass_fds=lock
        )
    return done.stdout or ""


def bind_to(threads: int) -> None:
    """Bind this process to so many physical cores, as a measurement is. Before any numerical library is loaded."""
    bind(usable_cores()[:threads])


def paired_ratio(other: Step, ours: Step, pairs: int = PAIRS, most_seconds: float = float("inf")) -> str:
    """Time of `other` over that of `ours`, run in turns: the median with its 95 % interval, and of how many pairs if
    they were fewer than `pairs`.

    Fewer are run where they would take more than `most_seconds`, but no fewer than an interval needs.
    """
    repeats = {step: count_repeats(step) for step in (other, ours)}
    ratios: list[float] = []
    began = seconds_now()
    for turn in range(pairs):
        order = (other, ours) if turn % 2 else (ours, other)
        times = {step: seconds_each(step, repeats[step]) for step in order}
        ratios.append(times[other] / times[ours])
        if len(ratios) >= FEWEST_ROUNDS and seconds_now() - began > most_seconds:
            break
    estimate = estimate_cell({0: ratios})
    fewer = f", {len(ratios)} pairs" if len(ratios) < pairs else ""
    return f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f}{fewer})"


def count_repeats(step: Step) -> int:
    """How many steps last RUN_SECONDS; warms them up."""
    began = seconds_now()
    step()
    if seconds_now() - began > 10 * RUN_SECONDS:  # one is enough, whatever the first one paid for being the first
        return 1
    count, began = 0, seconds_now()
    while seconds_now() - began < RUN_SECONDS:
        step()
        count += 1
    return count


def seconds_each(step: Step, repeats: int) -> float:
    """Seconds of a step, over so many of them."""
    start = seconds_now()
    for _ in range(repeats):
        step()
    return (seconds_now() - start) / repeats
