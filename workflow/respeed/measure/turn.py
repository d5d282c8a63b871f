"""Runs the measuring process, outlives it, and tells what it found as a record for each round."""

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from random import Random
from typing import Any

from respeed.errors import UserError
from respeed.inputs.config import why_denied
from respeed.machine.lock import Held, machine_lock
from respeed.machine.software import source_commit
from respeed.measure.worker import process_options
from respeed.paths import ROOT, RoundId
from respeed.protocol import Probes
from respeed.schedule.availability import describe_as
from respeed.schedule.spec import RoundSpec, untimed
from respeed.timing.clock import seconds_now, utc_now

# After so many processes that were left without their device, it or a kernel on it is broken, not a case.
MOST_LOST = 3
# Told of every case as it begins: its experiment, its name, and whether it is measured again.
Watch = Callable[[str, str, bool], None]


def measure_spec(spec: RoundSpec) -> dict[str, Any]:
    """The record of one round, measured while no other measurement runs on the machine."""
    with machine_lock() as lock:
        records = dict(measure_turn([spec], lock))
    return records[spec.id]


def measure_turn(
    specs: list[RoundSpec], lock: Held, probes: Probes | None = None, watch: Watch = lambda *_: None
) -> Iterator[tuple[RoundId, dict[str, Any]]]:
    """The record of each round as soon as its last case is done, and again where a case of it was measured again.

    The rounds are those of one profile, and share a process: to start one and to load its libraries takes as long as
    many a case. `probes` are those of the profile in this session so far: what is quiet shows only in comparison. The
    process keeps `lock`, the descriptors of the machine's lock, for as long as it uses the cores.
    """
    if denied := next(filter(None, (why_denied(case) for spec in specs for case in spec.cases)), None):
        raise UserError(denied)
    turn = _Turn([_shuffled(spec) for spec in specs], lock, probes or {}, watch)
    # A case that takes the process down (out of memory, a crash in a library), or its device, fails alone: the others
    # get a new one. It has no second attempt here, which would cost one more and mostly end alike: the next round is
    # one, and what lacks an interval for it is measured again.
    while turn.now < len(specs):
        yield from turn.run_process()


class _Turn:
    """Where a turn is: `now` is the round that is being measured, `done` has the facts of its cases so far."""

    def __init__(self, specs: list[RoundSpec], lock: Held, probes: Probes, watch: Watch) -> None:
        self.specs, self.lock, self.probes, self.watch = specs, lock, probes, watch
        self.now, self.done, self.lost = 0, list[dict[str, Any]](), 0
        self.records: dict[RoundId, dict[str, Any]] = {}
        self.provenance: dict[str, Any] = {"machine": describe_as(specs[0].id.machine), "commit": source_commit(ROOT)}
        self.ceilings: dict[str, Any] | None = None
        self.start_seconds = 0.0
        self._begin_round()

    def run_process(self) -> Iterator[tuple[RoundId, dict[str, Any]]]:
        """Measure what is left in a fresh process, until it is done or the process dies."""
        now, *later = self.specs[self.now :]
        left = [_of_cases(now, range(len(self.done), len(now.cases))), *later]
        refused, told, lost = "", False, self.lost
        began = seconds_now()
        with _worker(left, self.lock, self.probes) as worker:
            for event in _events(worker):
                told = True
                match event.pop("event"):
                    case "ready":
                        self.provenance |= event
                    case "ceilings":
                        self.ceilings, self.start_seconds = event, seconds_now() - began
                    case "begin":
                        self.watch(event["experiment"], event["case"], event["again"])
                    case "case":
                        self.done.append(event["facts"])
                        yield from self._finished()
                    case "again":
                        yield self._merged(left[event["round"]].id, event["facts"])
                    case "lost":
                        self.lost += 1
                        worker.kill()  # which may take long to let go of such a device by itself
                    case "refused":
                        raise UserError(event["line"])
                    case "not-run":
                        refused = event["reason"]
        if refused:
            yield from self._give_up("not-run", refused, everything=True)
        elif self.lost == MOST_LOST:
            yield from self._give_up("not-run", f"{MOST_LOST} other cases left the device useless", everything=True)
        elif self.now < len(self.specs) and self.lost == lost:
            # A process that said nothing at all would say nothing again.
            how = how_it_ended(worker.returncode)
            yield from self._give_up("failed", how, everything=not told)

    def _finished(self) -> Iterator[tuple[RoundId, dict[str, Any]]]:
        """The record of the round that is being measured, if its last case is done."""
        spec = self.specs[self.now]
        if len(self.done) == len(spec.cases):
            self.records[spec.id] = self._record(spec)
            self.now, self.done = self.now + 1, []
            self._begin_round()
            yield spec.id, self.records[spec.id]

    def _begin_round(self) -> None:
        self.started, self.began = utc_now(), seconds_now()

    def _give_up(self, status: str, reason: str, *, everything: bool) -> Iterator[tuple[RoundId, dict[str, Any]]]:
        """Put down that the case at hand was not timed, or that none of those that are left was."""
        while self.now < len(self.specs):
            left = self.specs[self.now].cases[len(self.done) :]
            self.done += [untimed(case, status, reason) for case in (left if everything else left[:1])]
            yield from self._finished()
            if not everything:
                return

    def _record(self, spec: RoundSpec) -> dict[str, Any]:
        return {
            "id": asdict(spec.id),
            "smoke": spec.id.smoke,
            "profile": asdict(spec.profile),
            "threads": spec.threads,
            "seed": spec.seed,
            "timing": asdict(spec.timing),
            "digest": spec.digest,
            "started": self.started,
            "wall_seconds": round(seconds_now() - self.began, 3),
            "start_seconds": round(self.start_seconds, 3),
            "provenance": self.provenance,
            "ceilings": self.ceilings,
            "cases": self.done,
        }

    def _merged(self, round_id: RoundId, facts: dict[str, Any]) -> tuple[RoundId, dict[str, Any]]:
        """The round's record with what another attempt at one of its cases found. Disturbed blocks stay in it."""
        record = self.records[round_id]
        cases = []
        for case in record["cases"]:
            if (case["case"], case["workload"]) == (facts["case"], facts["workload"]):
                case = facts | {
                    "errors": {
                        name: _worse(error, facts["errors"].get(name)) for name, error in case["errors"].items()
                    },
                    "blocks": [*case["blocks"], *facts["blocks"]],
                    "wall_seconds": round(case["wall_seconds"] + facts["wall_seconds"], 3),
                    "attempts": case.get("attempts", 1) + 1,
                }
            cases.append(case)
        seconds = round(record["wall_seconds"] + facts["wall_seconds"], 3)
        self.records[round_id] = record | {"cases": cases, "wall_seconds": seconds}
        return round_id, self.records[round_id]


def _shuffled(spec: RoundSpec) -> RoundSpec:
    """The cases in random order, another one in each round, so that none always follows the same."""
    order = list(range(len(spec.cases)))
    Random(f"{spec.seed}/{spec.id}").shuffle(order)
    return _of_cases(spec, order)


def _of_cases(spec: RoundSpec, places: Sequence[int]) -> RoundSpec:
    """The round of these of its cases, in this order."""
    return replace(spec, cases=tuple(spec.cases[place] for place in places))


@contextlib.contextmanager
def _worker(specs: list[RoundSpec], lock: Held, probes: Probes) -> Iterator[subprocess.Popen[str]]:
    """A fresh measuring process that knows what to measure. It ends with whoever stops listening."""
    command = [sys.executable, "-P", "-m", "respeed.measure.worker"]
    options = process_options(specs[0].threads, lock)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options) as worker:
        assert worker.stdin is not None
        try:
            with contextlib.suppress(BrokenPipeError):
                worker.stdin.write(json.dumps({"specs": [asdict(spec) for spec in specs], "probes": probes}))
                worker.stdin.close()
            yield worker
        except BaseException:
            worker.kill()
            raise


def _events(worker: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """What the process tells, as it tells it; the last line of one that was killed may be cut."""
    assert worker.stdout is not None
    return (json.loads(line) for line in worker.stdout if line.endswith("}\n"))


def _worse(one: float | None, other: float | None) -> float | None:
    """The larger of two errors; None, which stands for no number at all, is the largest."""
    return None if one is None or other is None else max(one, other)


def how_it_ended(code: int) -> str:
    """Return why a process that ended with that code told no more."""
    if code == -signal.SIGKILL:
        return "the measuring process was killed, perhaps for want of memory"
    if code < 0:
        return f"the measuring process ended with {signal.Signals(-code).name}"
    return f"the measuring process ended with exit code {code}"
