"""Runs the measuring process, outlives it, and writes what it found as one record."""

import json
import signal
import subprocess
import sys
from dataclasses import asdict, replace
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


def measure_round(round_id: RoundId, path: Path, seed: int) -> None:
    """Measure one round and write its record to `path`; UserError if this machine cannot run the profile at all."""
    try:
        spec = make_spec(round_id, seed)
    except NotMeasurable as reason:
        raise UserError(f"{round_id.profile}: cannot be measured on this machine: {reason}") from None
    kind = "whole run" if round_id.whole else f"round {round_id.index}"
    print(f"  {round_id.paper} {round_id.experiment} on {round_id.profile}, {kind}", file=sys.stderr, flush=True)
    write_json(path, measure_spec(spec))


def measure_spec(spec: RoundSpec) -> dict[str, Any]:
    """The record of one round, measured while no other measurement runs on the machine."""
    with machine_lock() as lock:
        return _measure(spec, lock)


def _measure(spec: RoundSpec, lock: int) -> dict[str, Any]:
    started, began = utc_now(), seconds_now()
    shuffled = _shuffled(spec)
    provenance: dict[str, Any] = {"machine": describe_machine(), "commit": source_commit(ROOT)}
    done: list[dict[str, Any]] = []
    ceilings: dict[str, Any] | None = None
    # A case that takes the process down (out of memory, a crash in a library) fails alone: the others get a new one.
    while len(done) < len(shuffled.cases):
        events, code = _run_child(_from_case(shuffled, len(done)), lock)
        for event in events:
            match event.pop("event"):
                case "ready":
                    provenance |= event
                case "ceilings":
                    ceilings = event
                case "case":
                    done.append(event["facts"])
                case "not-run":
                    done += [_not_timed(case, "not-run", event["reason"]) for case in shuffled.cases[len(done) :]]
        if not events:
            done += [_not_timed(case, "failed", _how_it_ended(code)) for case in shuffled.cases[len(done) :]]
        elif len(done) < len(shuffled.cases):
            done.append(_not_timed(shuffled.cases[len(done)], "failed", _how_it_ended(code)))
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
        "wall_seconds": round(seconds_now() - began, 3),
        "provenance": provenance,
        "ceilings": ceilings,
        "cases": done,
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


def _run_child(spec: RoundSpec, lock: int) -> tuple[list[dict[str, Any]], int]:
    """The events of a fresh measuring process, and its exit code."""
    command = [sys.executable, "-m", "respeed.measure.child"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=child_environment(spec.threads),
        pass_fds=(lock,),
        text=True,
    ) as child:
        try:
            output, _ = child.communicate(json.dumps(asdict(spec)))
        except BaseException:
            child.kill()
            raise
    events = [json.loads(line) for line in output.splitlines() if line.endswith("}")]
    return events, child.returncode


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
