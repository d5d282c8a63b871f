"""Runs the measuring process, outlives it, and writes what it found as a record for each round."""

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

from respeed.load.folders import ROOT
from respeed.measure.environment import child_environment
from respeed.measure.lock import machine_lock
from respeed.model.errors import NotMeasurable, UserError
from respeed.model.paper import Case
from respeed.model.round import RoundId, RoundSpec
from respeed.plan.spec import make_spec, measurement_digest
from respeed.provenance.machine import describe_machine
from respeed.provenance.required import check_provenance
from respeed.provenance.software import source_commit
from respeed.record.files import SCHEMA, write_json
from respeed.timing.clock import seconds_now, utc_now


def measure_rounds(rounds: Mapping[RoundId, Path], seed: int) -> None:
    """Measure rounds and write each one's record as soon as it is done; UserError if this machine cannot run a profile.

    Those of one profile share a process: to start one and to load its libraries takes as long as many a case.
    """
    for profile, group in groupby(rounds, key=lambda round_id: (round_id.profile, round_id.whole)):
        ids = list(group)
        try:
            specs = [make_spec(round_id, seed) for round_id in ids]
        except NotMeasurable as reason:
            raise UserError(f"{profile[0]}: cannot be measured on this machine: {reason}") from None
        kind = "whole run" if ids[0].whole else f"round {ids[0].index}"
        print(f"  {profile[0]}, {kind}: {', '.join(one.experiment for one in ids)}", file=sys.stderr, flush=True)
        with machine_lock() as lock:
            for round_id, record in zip(ids, _measure(specs, lock), strict=True):
                write_json(rounds[round_id], record)


def measure_spec(spec: RoundSpec) -> dict[str, Any]:
    """The record of one round, measured while no other measurement runs on the machine."""
    with machine_lock() as lock:
        (record,) = _measure([spec], lock)
    return record


def _measure(specs: list[RoundSpec], lock: int) -> Iterator[dict[str, Any]]:
    """The record of each round in turn, as soon as its last case is done."""
    started, began = utc_now(), seconds_now()
    shuffled = [_shuffled(spec) for spec in specs]
    provenance: dict[str, Any] = {"machine": describe_machine(), "commit": source_commit(ROOT)}
    ceilings: dict[str, Any] | None = None
    now, done = 0, list[dict[str, Any]]()
    # A case that takes the process down (out of memory, a crash in a library) fails alone: the others get a new one.
    while now < len(shuffled):
        told = False
        remaining = [_from_case(shuffled[now], len(done)), *shuffled[now + 1 :]]
        child = _Child(remaining, lock)
        for event in child.events():
            told = True
            match event.pop("event"):
                case "ready":
                    provenance |= event
                case "ceilings":
                    ceilings = event
                case "case":
                    done.append(event["facts"])
                case "not-run":
                    child.reason = ("not-run", event["reason"])
            if len(done) == len(shuffled[now].cases):
                yield _record(specs[now], provenance, ceilings, done, started, seconds_now() - began)
                started, began = utc_now(), seconds_now()
                now, done = now + 1, []
        if now == len(shuffled):
            return
        status, reason = child.reason or ("failed", _how_it_ended(child.code))
        # A process that said why it measures nothing, or said nothing at all, would do so again.
        hopeless = bool(child.reason) or not told
        while now < len(shuffled):
            left = shuffled[now].cases[len(done) :]
            done += [_not_timed(case, status, reason) for case in (left if hopeless else left[:1])]
            if len(done) < len(shuffled[now].cases):
                break
            yield _record(specs[now], provenance, ceilings, done, started, seconds_now() - began)
            started, began = utc_now(), seconds_now()
            now, done = now + 1, []
            if not hopeless:
                break


def _record(
    spec: RoundSpec,
    provenance: dict[str, Any],
    ceilings: dict[str, Any] | None,
    cases: list[dict[str, Any]],
    started: str,
    seconds: float,
) -> dict[str, Any]:
    if "backend" in provenance:
        check_provenance(provenance)
    return {
        "schema": SCHEMA,
        "id": asdict(spec.id),
        "profile": asdict(spec.profile),
        "threads": spec.threads,
        "seed": spec.seed,
        "timing": asdict(spec.timing),
        "digest": measurement_digest(spec),
        "started": started,
        "wall_seconds": round(seconds, 3),
        "provenance": provenance,
        "ceilings": ceilings,
        "cases": cases,
    }


def _shuffled(spec: RoundSpec) -> RoundSpec:
    """The cases in random order, another one in each round, so that none always follows the same."""
    order = list(range(len(spec.cases)))
    Random(f"{spec.seed}/{spec.id}").shuffle(order)
    return replace(
        spec,
        cases=tuple(spec.cases[index] for index in order),
        whole_steps=tuple(spec.whole_steps[index] for index in order) if spec.whole_steps else (),
    )


def _from_case(spec: RoundSpec, first: int) -> RoundSpec:
    return replace(spec, cases=spec.cases[first:], whole_steps=spec.whole_steps[first:])


class _Child:
    """A fresh measuring process. `code` is how it ended; `reason` why it measured nothing, where it said so."""

    def __init__(self, specs: list[RoundSpec], lock: int) -> None:
        self.specs, self.lock = specs, lock
        self.code = 0
        self.reason: tuple[str, str] | None = None

    def events(self) -> Iterator[dict[str, Any]]:
        """What it tells, as it tells it. The process ends with whoever stops listening."""
        with subprocess.Popen(
            [sys.executable, "-m", "respeed.measure.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=child_environment(self.specs[0].threads),
            pass_fds=(self.lock,),
            text=True,
        ) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            try:
                with contextlib.suppress(BrokenPipeError):
                    child.stdin.write(json.dumps([asdict(spec) for spec in self.specs]))
                    child.stdin.close()
                for line in child.stdout:
                    if line.endswith("}\n"):  # the last one of a process that was killed may be cut
                        yield json.loads(line)
            except BaseException:
                child.kill()
                raise
        self.code = child.returncode


def _how_it_ended(code: int) -> str:
    if code == -signal.SIGKILL:
        return "the measuring process was killed, perhaps for want of memory"
    if code < 0:
        return f"the measuring process ended with {signal.Signals(-code).name}"
    return f"the measuring process ended with exit code {code}"


def _not_timed(case: Case, status: str, reason: str) -> dict[str, Any]:
    return {
        "case": case.name,
        "workload": case.workload,
        "parameters": dict(case.parameters),
        "flops": None,
        "traffic_bytes": None,
        "memory_bytes": None,
        "parts": {},
        "status": status,
        "reason": reason,
        "errors": {},
        "tolerance": None,
        "warmup": None,
        "blocks": [],
    }
