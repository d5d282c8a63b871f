"""What the comparisons share: a process for each number of threads, and ratios of times taken in turns."""

import os
import subprocess
import sys
from collections.abc import Callable

from respeed.measure.child import bind
from respeed.measure.environment import child_environment
from respeed.provenance.cpu import usable_cores
from respeed.tables.statistics import estimate_median
from respeed.timing.clock import seconds_now

PAIRS = 15
# A run of one contestant lasts at least so long, in as many steps as that takes.
RUN_SECONDS = 0.05

Step = Callable[[], object]


def on_one_and_all_threads(arguments: list[str]) -> None:
    """Run this script again for one thread and for all cores, each in the environment of a measurement."""
    for threads in sorted({1, len(usable_cores())}):
        command = [sys.executable, sys.argv[0], *arguments, "--threads", str(threads)]
        print(f"{' '.join(arguments)} on {threads} of {os.cpu_count()} cores", flush=True)
        subprocess.run(command, env=child_environment(threads), check=True)


def bind_to(threads: int) -> None:
    """Bind this process to so many physical cores, as a measurement is. Before any numerical library is loaded."""
    bind(usable_cores()[:threads])


def paired_ratio(other: Step, ours: Step, pairs: int = PAIRS) -> str:
    """Time of `other` over that of `ours`, run in turns: the median with its 95 % interval."""
    repeats = {step: _repeats(step) for step in (other, ours)}
    ratios = []
    for turn in range(pairs):
        order = (other, ours) if turn % 2 else (ours, other)
        times = {step: _seconds(step, repeats[step]) for step in order}
        ratios.append(times[other] / times[ours])
    estimate = estimate_median(ratios)
    return f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


def _repeats(step: Step) -> int:
    """How many steps last RUN_SECONDS; warms them up."""
    step()
    count, begin = 0, seconds_now()
    while seconds_now() - begin < RUN_SECONDS:
        step()
        count += 1
    return count


def _seconds(step: Step, repeats: int) -> float:
    start = seconds_now()
    for _ in range(repeats):
        step()
    return (seconds_now() - start) / repeats
