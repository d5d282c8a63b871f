"""Records of machines that do not exist, whose true times are known: what do the real tables make of them?

A round's time is the true one times exp of what the noise adds: drift, common to all profiles that take turns at that
time; what a process has for all of its cases; what a session has for all of its rounds; what a case has of its own,
another spread on each profile; and now and then a disturbance. One that the probe sees slows it in five blocks, each by
itself, and the step by the same to the power of a slope that each case has; one that it does not see counts.
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
from respeed.analysis.claims import Compared, judge_claim
from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import TRIM, estimate_ratio, level_of_each
from respeed.analysis.rounds import CellKey, read_rounds
from respeed.analysis.speedups import Samples, compare_machines, make_speedups
from respeed.inputs.config import Preset
from respeed.inputs.machines import load_profiles
from respeed.inputs.papers import load_papers
from respeed.machine import describe_machine
from respeed.model import Case, Claim
from respeed.protocol import REAL, Block
from respeed.records import SCHEMA, Record, Result, Start, Warmup
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
SLOPE, ITEMS, SLOWER = (1.0, 0.12), (0.1, 1.1), (1.05, 1.8)

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
)


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
        fast = math.log(0.7) if noise.falls and len(self.drifts) * TURN_SECONDS <= 30 else 0.0
        for number, case in enumerate(RBM.cases):
            if case.name in wanted:
                own = draw.standard_t(3) / math.sqrt(3) if noise.tails else draw.normal()
                added = self.levels[-1] + self.drift + process + noise.spreads[place] * own
                if draw.random() < noise.unseen:
                    added += math.log(draw.uniform(1.05, 1.3))
                slow = np.where(draw.random(BLOCKS) < noise.seen, np.log(draw.uniform(*SLOWER, BLOCKS)), 0.0)
                seconds = self.ratios[place] * np.exp(added + fast + self.slopes[place, number] * slow)
                probes = 0.004 * np.exp(fast + slow + draw.normal(0, 0.01, BLOCKS))
                made.append(_result(case, seconds, probes, not noise.items))
        begun = len(self.levels) * DAY + len(self.drifts) * TURN_SECONDS
        return _record(NAMES[place], begun, made)

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
            once = plan.seconds_of(entry._replace(goal=entry.done + 1) for entry in plan.entries)
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


def make_tables(machines: Mapping[str, Machine]) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """What the real tables say of the RBM table on machines of these names: cells, speedups and rounds."""
    records = [replace(record, machine=name) for name, machine in machines.items() for record in machine.records]
    rounds = read_rounds(records, RBM_ALONE)
    cells = make_cells(rounds, RBM_ALONE, PROFILES, {})
    cells = cells[cells["profile"].isin(NAMES)]
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
        mine = (rows_of(table[table["machine"] == name]) for table in (cells, speedups))
        tally.add(machine, *mine)
    return tally


@functools.cache
def simulate_alike(noise: Noise, machines: int, rounds: int, cohorts: int, seed: int = 1) -> float:
    """Of cohorts of machines that are equally fast, each measured in a session of its own: the share of
    machines that are said to be slower in a case."""
    every = {NAMES[0]: {case.name for case in RBM.cases}}
    slower, compared = 0, 0
    for cohort in range(cohorts):
        made = {}
        for number in range(machines):
            made[f"box-{number}"] = Machine(noise, (1.0,), np.random.default_rng([seed, cohort, number]))
            made[f"box-{number}"].measure(rounds, every)
        cells, _, found = make_tables(made)
        verdicts = compare_machines(cells, Samples(found))["verdict"]
        slower, compared = slower + int((verdicts == "slower").sum()), compared + int((verdicts != "base").sum())
    return slower / compared


def simulate_claim(
    test: str, levels: tuple[float, ...], facts: Mapping[str, list[float]], noise: float, machines: int, rounds: int = 6
) -> Counter[str]:
    """How often each verdict is given on machines of these true ratios, of so many rounds of each of the two rows. What
    a round has for all of its cases is as large as what each case has of its own."""
    draw, found = np.random.default_rng(1), Counter[str]()
    claim = Claim("it", "It is.", test, "table", "gpu")
    for _ in range(machines):
        shared, compared = draw.normal(0, noise, (2, rounds)), []
        for place, level in enumerate(levels):
            row, base = np.exp(shared + draw.normal(np.log([[level], [1.0]]), noise, (2, rounds)))
            here, _ = estimate_ratio({0: row}, {0: base}, level_of_each(len(levels)))
            told: dict[str, Any] = {name: values[place] for name, values in facts.items()}
            compared.append(Compared(str(place), str(place), here=here, rounds=rounds, **told))
        found[judge_claim(claim, compared)[0]] += 1
    return found


def _result(case: Case, seconds: np.ndarray, probes: np.ndarray, together: bool) -> Result:
    blocks = tuple(
        Block(1, (step,), (probe, probe), 0.0, 1, 0, 0.0, None)
        for step, probe in zip(seconds.tolist(), probes.tolist(), strict=True)
    )
    return Result(
        workload="rbm", parameters=dict(case.parameters), number=1, source="", status="measured", reason=None,
        flops=1e9, traffic_bytes=1e6, parts={}, errors={}, warmup=Warmup(settled=True, step_seconds=1.0),
        blocks=blocks, wall_seconds=1.0, together=together,
    )  # fmt: skip


def _record(name: str, begun: float, made: list[Result]) -> Record:
    start = Start.model_validate({
        "schema": SCHEMA, "smoke": False, "profile": asdict(PROFILES[name]), "threads": 2, "seed": 1,
        "timing": asdict(REAL), "started": (BEGIN + timedelta(seconds=begun)).isoformat(),
        "machine": HERE, "commit": "simulated", "start_seconds": 2.0,
        "backend": {"package": "simulated", "library": "simulated"}, "ceilings": {"flops_per_second": 1e13},
    })  # fmt: skip
    return Record("box", Path(name, f"{begun:012.0f}"), start, tuple(made))
