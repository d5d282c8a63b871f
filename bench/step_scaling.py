"""What a step of an RBM costs by V x H, by the mini-batch and by threads. Run by bench/limits.py scaling.

A round is a fresh process for each number of threads, as in a measurement; in it every size is built, warmed up and
timed, in random order, another one in each round. Costs are per unit of work (a weight, an example; of threads, their
number times the step's seconds) and relative to the largest size of the same round (to one thread), so that a straight
line through zero, perfect proportion, is 1 everywhere. The raw seconds go to a JSON file, from which the figure can be
drawn again.
"""

import argparse
import json
import random
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from paired import RUN_SECONDS, bind_to, count_repeats, in_fresh_process, seconds_each
from scaling_figure import Panel, Series, draw_scaling, save_scaling

from respeed.analysis.estimates import estimate_location
from respeed.machine.cpu import usable_cores
from respeed.machine.description import describe_machine
from respeed.model.paper import Case
from respeed.timing.clock import utc_now

BACKENDS = ("openblas", "torch")
# As few rounds as give an interval, and one more.
ROUNDS = 7
# Of a step so short that several last no longer than RUN_SECONDS.
RUNS = 3
# Four times as many hidden units as visible ones, as in the paper's second column; at the ends, squarer.
SIZES = ((256, 256), (256, 1024), (512, 2048), (1024, 4096), (2048, 8192), (4096, 8192))
BATCH = 192
# At one of the paper's sizes, with its batch among them.
MIDDLE = (1024, 4096)
BATCHES = (16, 48, 96, 192, 384, 768)

FACTS, FIGURE = Path("results/bench/scaling.json"), Path("docs/scaling.svg")


@dataclass(frozen=True)
class Measured:
    """Seconds of a step in one round."""

    round: int
    threads: int
    backend: str
    visible: int
    hidden: int
    batch: int
    seconds: float


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=FACTS, help=f"where the raw facts go ({FACTS})")
    parser.add_argument("--figure", type=Path, default=FIGURE, help=f"where the figure goes, .svg or .png ({FIGURE})")
    parser.add_argument("--draw", type=Path, metavar="FACTS", help="measure nothing, draw these facts")
    parser.add_argument("--threads", type=int, help="measure in this process, which has the environment for it")
    parser.add_argument("--round", type=int, default=0, help="with --threads: which round it is")
    parser.add_argument("--every", action="store_true", help="with --threads: every size, not one alone")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    if options.threads:
        bind_to(options.threads)
        print(json.dumps([asdict(one) for one in _measure(options.round, options.threads, options.every)]))
        return
    if options.draw:
        facts = json.loads(options.draw.read_text())
    else:
        facts = _measure_rounds()
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(facts, indent=1) + "\n")
    panels = make_panels([Measured(**one) for one in facts["measured"]])
    for panel in panels:
        _say(panel)
    save_scaling(draw_scaling(panels), options.figure)


def _measure_rounds() -> dict[str, Any]:
    measured: list[dict[str, Any]] = []
    started, numbers = utc_now(), thread_ladder(len(usable_cores()))
    for index in range(1, ROUNDS + 1):
        print(f"round {index} of {ROUNDS}", flush=True)
        for threads in random.Random(index).sample(numbers, len(numbers)):
            arguments = ["scaling", "--threads", str(threads), "--round", str(index)]
            if threads in (1, max(numbers)):
                arguments.append("--every")
            measured += json.loads(in_fresh_process(arguments, threads, subprocess.PIPE))
    return {"machine": describe_machine(), "started": started, "run_seconds": RUN_SECONDS, "measured": measured}


def thread_ladder(cores: int) -> list[int]:
    """1, 2, 4, ... and all cores."""
    return sorted({2**power for power in range(cores.bit_length()) if 2**power < cores} | {cores})


def _measure(index: int, threads: int, every: bool) -> Iterator[Measured]:
    """One round on so many threads: of every size, or of the one in the middle."""
    from respeed.backends import make_backend
    from respeed.workloads.rbm import Rbm

    settings = [(*MIDDLE, BATCH)]
    if every:
        settings = sorted({(*size, BATCH) for size in SIZES} | {(*MIDDLE, batch) for batch in BATCHES})
    places = [(name, *setting) for name in BACKENDS for setting in settings]
    random.Random(f"{index}/{threads}").shuffle(places)
    backends = {
        name: make_backend(name, device="cpu", precision="fp32", threads=threads, seed=index) for name in BACKENDS
    }
    for name, V, H, B in places:
        case = Case("scaling", "rbm", {"visible": V, "hidden": H, "batch": B, "learning_rate": 0.01})
        step = Rbm().build(backends[name], case, Rbm().inputs(case, index)).step
        repeats = count_repeats(step)
        # A short run is over within a disturbance, which another one then outvotes; a long one has its own share of it.
        seconds = median(seconds_each(step, repeats) for _ in range(RUNS if repeats > 1 else 1))
        yield Measured(index, threads, name, V, H, B, seconds)


def make_panels(measured: list[Measured]) -> list[Panel]:
    """Costs by V x H and by the mini-batch, relative to the largest, and by threads, relative to one."""
    V, H = MIDDLE
    most = max(one.threads for one in measured)

    def rows(wanted: Callable[[Measured], bool], work: Callable[[Measured], int]) -> list[Series]:
        found = []
        for name, threads in product(BACKENDS, sorted({1, most})):
            row = [one for one in measured if (one.backend, one.threads) == (name, threads) and wanted(one)]
            costs = relative_costs(row, work, lambda one: one.seconds / work(one), max(map(work, row)))
            found.append(Series(name, threads, costs))
        return found

    sizes = rows(lambda one: one.batch == BATCH, lambda one: one.visible * one.hidden)
    batches = rows(lambda one: (one.visible, one.hidden) == MIDDLE, lambda one: one.batch)
    middle = [one for one in measured if (one.visible, one.hidden, one.batch) == (*MIDDLE, BATCH)]
    threads = []
    for name in BACKENDS:
        row = [one for one in middle if one.backend == name]
        costs = relative_costs(row, lambda one: one.threads, lambda one: one.seconds * one.threads, 1)
        threads.append(Series(name, None, costs))
    # As the facts have them, which may be older than this file.
    size_ticks = {one.visible * one.hidden: f"{one.visible}x{one.hidden}" for one in measured if one.batch == BATCH}
    batch_ticks = {one.batch: str(one.batch) for one in measured if (one.visible, one.hidden) == MIDDLE}
    return [
        Panel("time a weight", f"V x H, mini-batch of {BATCH}", size_ticks, sizes),
        Panel("time an example", f"mini-batch, {V}x{H}", batch_ticks, batches),
        Panel("time x threads", "threads", {one.threads: str(one.threads) for one in middle}, threads),
    ]


def relative_costs(
    measured: list[Measured], x: Callable[[Measured], int], cost: Callable[[Measured], float], to: int
) -> dict[int, list[float]]:
    """x -> the cost of each round, over that at `to` in the same round."""
    base = {one.round: cost(one) for one in measured if x(one) == to}
    found: dict[int, list[float]] = {}
    for one in sorted(measured, key=lambda one: (x(one), one.round)):
        found.setdefault(x(one), []).append(cost(one) / base[one.round])
    return found


def _say(panel: Panel) -> None:
    print(f"relative {panel.title} by {panel.axis}")
    for row in panel.series:
        for x, costs in row.costs.items():
            found = estimate_location(costs)
            between = f" ({found.low:.3f} to {found.high:.3f})" if found.low and found.high else ""
            print(f"  {row.label:<22} {panel.ticks[x]:>10} {found.value:.3f}{between}")
