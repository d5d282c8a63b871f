"""Records of machines that do not exist, whose true times are known: what do the real tables make of them?

A round's time is the true one times exp of what the noise adds: drift, common to all profiles that take turns at that
time; what a process has for all of its cases; what a session has for all of its rounds; what a case has of its own,
another spread on each profile; and now and then a disturbance. One that the probe sees slows it in five blocks, each by
itself, and the step by the same to the power of a slope that each case has; one that it does not see counts. Beside a
`Host`, neighbours come and go within blocks and steps, so that probes tell only a part of what slowed a step.
"""

import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import trim_mean

from respeed.analysis.cells import make_cells
from respeed.analysis.claims import ClaimCase, judge_claim
from respeed.analysis.estimates import TRIM, estimate_ratio, level_of_each, verdict_of
from respeed.analysis.rounds import read_rounds
from respeed.analysis.speedups import Samples, make_speedups
from respeed.analysis.tables import Cell, CellKey, Speedup, group_by
from respeed.inputs.config import Preset
from respeed.inputs.machines import load_profiles
from respeed.inputs.papers import load_papers
from respeed.machine import describe_machine
from respeed.model import Case
from respeed.protocol import REAL, Block, Warmup
from respeed.records import SCHEMA, Record, Result, Start
from respeed.schedule.plan import Plan
from respeed.schedule.rows import Row
from respeed.schedule.work import USUAL, Wanted, Work

PAPERS, PROFILES = load_papers(["raina2009"]), load_profiles()
PAPER = PAPERS["raina2009"]
RBM = PAPER.experiments["rbm"]
RBM_ALONE = {"raina2009": replace(PAPER, experiments={"rbm": RBM})}
STEPS = 1_000_000 / 192
NAMES = ("openblas-1", "openblas-all", "torch-1", "torch-all")
HERE = describe_machine()
BEGIN = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
TURN_SECONDS, DAY = 25.0, 86400.0
WANTED = tuple(
    Wanted(
        Row(PROFILES[name], 2, ()),
        case,
        (CellKey("box", "raina2009", "rbm", case.name, "rbm", name),),
        USUAL,
        False,
        "",
        (),
        1,
    )
    for case in RBM.cases
    for name in NAMES
)
BLOCKS = 5
# Slopes of products' cases, as a normal distribution; of work by items, the least and the largest; and how many times
# slower a core is beside a neighbour.
SLOPE, ITEMS, SLOWER = (0.9, 0.2), (0.1, 1.3), (1.05, 1.8)
# Seconds: what a host's state is drawn for; a turn, a probe, a block of short steps, and a part of a long step between
# two marks. A long step has so many parts.
TICK, HOST_SECONDS, PROBE, SHORT, PART, PARTS = 0.001, 6.0, 0.005, 0.05, 0.04, 12
# How long a core's neighbour stays on average if it is there half of the time, and how much slower the core is then.
DWELL, LEVELS, SHARES = 0.15, (1.27, 1.45, 1.72, 2.4), (0.36, 0.34, 0.24, 0.06)
# The standard deviation, between turns, of the logit of the share of time that a neighbour is there.
BUSY_SPREAD = 1.3

# Claims: their test, the true ratio in each case, what is published of each, and whether the claim is true.
CLAIMS: tuple[tuple[str, tuple[float, ...], dict[str, list[float]], bool], ...] = (
    ("each", (10, 20, 40), {"published": [10, 20, 40]}, True),
    ("each", (10, 20, 48), {"published": [10, 20, 40]}, False),
    ("growth", (10, 10.5, 20, 40), {"published": [10, 15, 20, 40]}, True),
    ("growth", (10, 8.5, 20, 40), {"published": [10, 15, 20, 40]}, False),
    ("faster", (1.05, 3, 9), {}, True),
    ("faster", (0.95, 3, 9), {}, False),
    ("crossover", (0.95, 3, 9), {}, True),
    ("crossover", (0.1, 0.5, 1.05), {}, True),
    ("crossover", (1.05, 3, 9), {}, False),
    ("crossover", (0.1, 0.5, 0.95), {}, False),
    ("limited", (1.05, 3.7), {"ideal": [2, 4]}, True),
    ("limited", (0.97, 2.2), {"ideal": [2, 4]}, False),
)


@dataclass(frozen=True)
class Noise:
    """Standard deviations of logarithms, and probabilities. `spreads` are those of the profiles' cases, in turn."""

    name: str
    spreads: tuple[float, ...] = (0.02, 0.02, 0.02, 0.02)
    process: float = 0.01
    drift: float = 0.0
    seen: float = 0.0
    unseen: float = 0.0
    tails: bool = False
    session: float = 0.0
    falls: bool = False
    items: bool = False
    host: bool = False


SCENARIOS = (
    Noise("quiet"),
    Noise("one round in seven disturbed and seen, one in twenty slow and not", seen=0.15, unseen=0.05),
    Noise("drift as large as the noise", drift=0.02),
    Noise("spreads from 1 to 6 %", spreads=(0.01, 0.03, 0.02, 0.06)),
    Noise("long tails, drift, disturbed", drift=0.015, seen=0.2, unseen=0.08, tails=True),
    Noise("two blocks in three disturbed", seen=0.67),
    Noise("nine blocks in ten disturbed", seen=0.9),
    Noise("half disturbed, work by items", seen=0.5, items=True),
    Noise("half disturbed, and a clock that falls by 30 % after half a minute", seen=0.5, falls=True),
    Noise("a host of two cores whose neighbours come and go", host=True),
    Noise("the same host, work by items", host=True, items=True),
)


class Host:
    """Two cores during a turn, each beside a neighbour that comes and goes, as a row of tables feels them.

    A row on one core has the first; of rows on both, OpenBLAS waits for the slower one, and torch nearly does.
    """

    def __init__(self, place: int, draw: np.random.Generator) -> None:
        self._cores = [self._core(draw) for _ in range(2)]
        slower, mean = np.maximum(*self._cores), np.log(np.exp(self._cores).mean(axis=0))
        self._slow = (self._cores[0], slower, self._cores[0], 0.6 * slower + 0.4 * mean)[place]
        self._now = 0

    @staticmethod
    def _core(draw: np.random.Generator) -> np.ndarray:
        """Return by how much a core is slowed in each tick, as a logarithm."""
        slow, at = np.zeros(int(HOST_SECONDS / TICK)), 0
        share = 1 / (1 + math.exp(-draw.normal(0, BUSY_SPREAD)))
        is_busy = draw.random() < share
        while at < len(slow):
            stays = draw.exponential(min(3.0, DWELL / 2 / (1 - share if is_busy else share)))
            end = at + 1 + int(stays / TICK)
            if is_busy:
                slow[at:end] = math.log(draw.choice(LEVELS, p=SHARES))
            at, is_busy = end, not is_busy
        return slow

    def run(self, work: float, slope: float = 1.0) -> float:
        """Return how many times as long as on a quiet machine the next `work` seconds of work take."""
        ahead = self._slow[self._now : self._now + int(4 * work / TICK)]
        done = np.concatenate([[0.0], np.cumsum(TICK * np.exp(-slope * ahead))])
        seconds = float(np.interp(work, done, TICK * np.arange(len(done))))
        self._now += int(seconds / TICK)
        return seconds / work


class Machine:
    """A simulated machine whose rows have the given true ratios to the first; `draw` makes all of its noise."""

    def __init__(self, noise: Noise, ratios: tuple[float, ...], draw: np.random.Generator) -> None:
        self.noise, self.ratios, self.draw = noise, ratios, draw
        self.records: list[Record] = []
        self.drift, self.drifts = float(draw.normal(0, noise.drift)), list[float]()
        self.levels = [float(draw.normal(0, noise.session))]
        shape = len(NAMES), len(RBM.cases)
        self.slopes = draw.uniform(*ITEMS, shape) if noise.items else draw.normal(*SLOPE, shape)

    def begin_session(self) -> None:
        """A day later: what all rounds of a session share is another."""
        self.levels.append(float(self.draw.normal(0, self.noise.session)))

    def measure(self, rounds: int, only: Mapping[str, set[str]] | None = None) -> None:
        """So many rounds on every profile, of all cases or of `only` some."""
        for _ in range(rounds):
            for place in self.draw.permutation(len(NAMES)):
                profile = NAMES[place]
                wanted = {case.name for case in RBM.cases} if only is None else only.get(profile, set())
                if wanted:
                    self.records.append(self._turn(int(place), wanted))

    def _turn(self, place: int, wanted: set[str]) -> Record:
        noise, draw = self.noise, self.draw
        # Remembers nine tenths of itself from one turn to the next.
        self.drift = 0.9 * self.drift + math.sqrt(1 - 0.81) * draw.normal(0, noise.drift)
        self.drifts.append(self.drift)
        process = draw.normal(0, noise.process)
        made = []
        host = Host(place, draw) if noise.host else None
        fast = math.log(0.7) if noise.falls and len(self.drifts) * TURN_SECONDS <= 30 else 0.0
        for number, case in enumerate(RBM.cases):
            if case.name in wanted:
                own = draw.standard_t(3) / math.sqrt(3) if noise.tails else draw.normal()
                added = self.levels[-1] + self.drift + process + noise.spreads[place] * own
                if draw.random() < noise.unseen:
                    added += math.log(draw.uniform(1.05, 1.3))
                quiet, slope = self.ratios[place] * math.exp(added + fast), self.slopes[place, number]
                if host:
                    blocks = self._beside(host, quiet, slope, is_long=number % 2 == 1)
                else:
                    blocks = self._between(quiet, slope, 0.004 * math.exp(fast))
                made.append(_result(case, blocks, not noise.items))
        begun = len(self.levels) * DAY + len(self.drifts) * TURN_SECONDS
        return _record(NAMES[place], begun, made)

    def _between(self, quiet: float, slope: float, probe: float) -> tuple[Block, ...]:
        """Blocks of a step that takes `quiet` seconds on the quiet machine; each is disturbed as a whole, or not."""
        slow = np.where(self.draw.random(BLOCKS) < self.noise.seen, np.log(self.draw.uniform(*SLOWER, BLOCKS)), 0.0)
        probes = probe * np.exp(slow + self.draw.normal(0, 0.01, BLOCKS))
        seconds = quiet * np.exp(slope * slow)
        return tuple(_block(*times) for times in zip(seconds.tolist(), probes.tolist(), probes.tolist(), strict=True))

    def _beside(self, host: Host, quiet: float, slope: float, is_long: bool) -> tuple[Block, ...]:
        """Blocks of such a step beside a host's neighbours; a long step has probes inside, unless it works by items."""

        def probe() -> float:
            return 0.004 * host.run(PROBE) * math.exp(self.draw.normal(0, 0.01))

        before, blocks = probe(), []
        parts, work = (PARTS, PART) if is_long else (1, SHORT)
        for _ in range(1 if is_long else BLOCKS):
            times, inside = [quiet / parts * host.run(work, slope)], []
            while len(times) < parts:
                if not self.noise.items:
                    inside.append((times[-1], probe()))
                times.append(quiet / parts * host.run(work, slope))
            blocks.append(_block(math.fsum(times), before, before := probe(), tuple(inside)))
        return tuple(blocks)

    def measure_again(self, most: int, seconds_left: float) -> None:
        """What the look at the first rounds leaves open, in so many seconds: as a run does it."""
        first = len(self.records) // len(NAMES)
        minutes = (sum(record.wall_seconds for record in self.records) + seconds_left) / 60
        plan = Plan(
            Work("box", Preset("simulated", first, most, minutes, "paper"), 1, PAPERS, WANTED, minutes),
            tuple(self.records),
        )
        only: dict[str, set[str]] = {}
        for entry in plan.entries:
            only.setdefault(entry.wanted.profile, set()).add(entry.wanted.case.name)
        if only:
            once = plan.seconds_of(entry.once_more() for entry in plan.entries)
            self.measure(min(most - first, int(seconds_left / once)), only)

    def true_seconds(self, cell: Any) -> float:
        """Of one session those of that session: what drift did to all of it is no error of one round against another.
        Of several those of the long run."""
        place = NAMES.index(cell.profile)
        shared = float(np.mean(self.drifts)) + self.levels[0] if len(self.levels) == 1 else 0.0
        return STEPS * self.ratios[place] * math.exp(shared + location(self.noise, place))

    def true_speedup(self, row: Any) -> float:
        base, place = NAMES.index(row.base_profile), NAMES.index(row.profile)
        ratio = self.ratios[base] / self.ratios[place]
        return ratio * math.exp(location(self.noise, base) - location(self.noise, place))


def make_tables(machines: Mapping[str, Machine]) -> tuple[list[Cell], list[Speedup], pd.DataFrame]:
    """What the real tables say of the RBM table on machines of these names: cells, speedups and rounds."""
    records = [replace(record, machine=name) for name, machine in machines.items() for record in machine.records]
    rounds = read_rounds(records, RBM_ALONE)
    cells = [cell for cell in make_cells(rounds, RBM_ALONE, PROFILES, {}) if cell.profile in NAMES]
    return cells, make_speedups(cells, Samples(rounds), RBM_ALONE), rounds


@functools.cache
def location(noise: Noise, place: int) -> float:
    """Return where the noise of a round of one profile lies: its mean without an eighth from either end."""
    draw, many = np.random.default_rng(1), 400_000
    own = draw.standard_t(3, many) / math.sqrt(3) if noise.tails else draw.normal(size=many)
    slow = np.where(draw.random(many) < noise.unseen, np.log(draw.uniform(1.05, 1.3, many)), 0.0)
    return float(trim_mean(draw.normal(0, noise.process, many) + noise.spreads[place] * own + slow, 1 / TRIM))


@dataclass
class Tally:
    """Over many simulated machines. A claim is faster or slower; it is false of rows that are equally fast."""

    cells: int = 0
    covered: int = 0
    without: int = 0
    speedups: int = 0
    speedups_covered: int = 0
    equal: int = 0
    false: int = 0

    def add(self, machine: Machine, cells: Iterable[Any], ratios: Iterable[Any]) -> None:
        for cell in cells:
            if cell.seconds_low is None or cell.seconds_high is None:
                self.without += 1
                continue
            self.cells += 1
            self.covered += cell.seconds_low <= machine.true_seconds(cell) <= cell.seconds_high
        for row in ratios:
            if row.speedup_low is None or row.speedup_high is None:
                continue
            truth = machine.true_speedup(row)
            self.speedups += 1
            self.speedups_covered += row.speedup_low <= truth <= row.speedup_high
            # Where the noise shifts the two alike, and neither is faster.
            if math.isclose(truth, 1, rel_tol=0.002):
                self.equal += 1
                self.false += row.verdict in {"faster", "slower"}

    def __str__(self) -> str:
        return (
            f"cells {self.covered / max(1, self.cells):.1%} of {self.cells} ({self.without} without an interval), "
            f"speedups {self.speedups_covered / max(1, self.speedups):.1%} of {self.speedups}, "
            f"false claims {self.false / max(1, self.equal):.1%} of {self.equal}"
        )


@functools.cache
def simulate(
    noise: Noise, ratios: tuple[float, ...], rounds: int, machines: int, again: bool, seed: int = 1, sessions: int = 1
) -> Tally:
    """So many machines, measured so many rounds in each session, and then `again` what is unsettled, in two minutes."""
    tally, made = Tally(), dict[str, Machine]()
    for number in range(machines):
        machine = made[f"box-{number}"] = Machine(noise, ratios, np.random.default_rng([seed, number]))
        machine.measure(rounds)
        for _ in range(sessions - 1):
            machine.begin_session()
            machine.measure(rounds)
        if again:
            machine.measure_again(20, 120.0)
    cells, speedups, _ = make_tables(made)
    for name, machine in made.items():
        tally.add(
            machine,
            [cell for cell in cells if cell.machine == name],
            [speedup for speedup in speedups if speedup.machine == name],
        )
    return tally


@functools.cache
def simulate_alike(noise: Noise, rounds: int, pairs: int, seed: int = 1) -> float:
    """Of pairs of rows that are equally fast, each measured in a session of its own: the share of cells that are called
    faster or slower than their like."""
    every = {NAMES[0]: {case.name for case in RBM.cases}}
    different, compared = 0, 0
    for pair in range(pairs):
        made = {}
        for number in range(2):
            made[f"box-{number}"] = Machine(noise, (1.0,), np.random.default_rng([seed, pair, number]))
            made[f"box-{number}"].measure(rounds, every)
        cells, _, found = make_tables(made)
        samples = Samples(found.assign(session=found["machine"] == "box-1"))
        for a, b in group_by([cell for cell in cells if cell.seconds], lambda cell: cell.key[1:]).values():
            verdict, _ = verdict_of(samples.ratio(a, b)[0])
            different += verdict in {"faster", "slower"}
            compared += 1
    return different / compared


def simulate_claim(
    test: str, levels: tuple[float, ...], facts: Mapping[str, list[float]], noise: float, machines: int, rounds: int = 6
) -> Counter[str]:
    """How often each verdict is given on machines of these true ratios, of so many rounds of each of the two rows. What
    a round has for all of its cases is as large as what each case has of its own."""
    draw, found = np.random.default_rng(1), Counter[str]()
    for _ in range(machines):
        shared, cases = draw.normal(0, noise, (2, rounds)), []
        for place, level in enumerate(levels):
            row, base = np.exp(shared + draw.normal(np.log([[level], [1.0]]), noise, (2, rounds)))
            ratio, _ = estimate_ratio({0: row}, {0: base}, level_of_each(len(levels)))
            told: dict[str, Any] = {name: values[place] for name, values in facts.items()}
            text = "x" if "published" in told else ""
            name = str(place)
            cases.append(ClaimCase(name, name, name, text=text, ratio=ratio, rounds=rounds, **told))
        found[judge_claim(test, cases).kind] += 1
    return found


def _block(seconds: float, before: float, after: float, inside: tuple[tuple[float, float], ...] = ()) -> Block:
    return Block(1, (seconds,), (before, after), 0.0, 1, 0, 0.0, None, inside=inside)


def _result(case: Case, blocks: tuple[Block, ...], together: bool) -> Result:
    return Result(
        workload="rbm", parameters=dict(case.parameters), number=1, source="", status="measured", reason=None,
        flops=1e9, traffic_bytes=1e6, parts={}, errors={}, warmup=Warmup(settled=True, step_seconds=1.0),
        blocks=blocks, wall_seconds=1.0, together=together,
    )  # fmt: skip


def _record(name: str, begun: float, made: list[Result]) -> Record:
    start = Start.model_validate({
        "schema": SCHEMA, "smoke": False, "profile": asdict(PROFILES[name]), "threads": 2, "seed": 1,
        "timing": asdict(REAL), "started": (BEGIN + timedelta(seconds=begun)).isoformat(),
        "machine": HERE, "commit": "unknown", "start_seconds": 2.0,
        "backend": {"package": "simulated", "library": "simulated"}, "ceilings": {"flops_per_second": 1e13},
    })  # fmt: skip
    return Record("box", Path(name, f"{begun:012.0f}"), start, tuple(made))
