"""Measures the hardware sheet: what this machine reaches, and what more threads bring it.

Every number of threads, precision and device has processes of its own, as the rounds of a paper have. They take turns,
pass after pass, in another order each time; the facts are a record a process, in one file.
"""

import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path
from typing import Any

from respeed.analysis.hardware_sheet import disturbed_profiles
from respeed.machine.accelerators import accelerator_bytes
from respeed.machine.cpu import cache_bytes, usable_cores
from respeed.machine.software import package_versions, source_commit
from respeed.measure.lock import Held, machine_lock
from respeed.measure.turn import measure_turn
from respeed.paths import ROOT, parse_hardware_path
from respeed.records.models import SHEET_SCHEMA
from respeed.records.store import set_aside, write_record
from respeed.schedule.availability import check_is_this_machine, describe_as
from respeed.schedule.gauge import LEAST_PASSES, MOST_PASSES, PATIENCE, SECONDS, Gauge, plan_gauge, why_due
from respeed.schedule.spec import RoundSpec
from respeed.timing.clock import seconds_now, utc_now

# What all processes share stands once in the sheet.
SHARED = ("machine", "commit", "versions", "libraries", "environment")


def measure_gauge(path: Path, wait_seconds: float | None = None) -> None:
    """Measure this machine and write the sheet, whole or not at all. One that can be used is left as it is, and one
    that cannot is set aside; UserError if the name is another machine's."""
    machine, smoke = parse_hardware_path(path)
    check_is_this_machine(machine, smoke)
    gauge = plan_gauge(machine, smoke)
    if (reason := why_due(path, machine, gauge)) is None:
        _say(f"{path} is there already; delete it to measure it anew")
        return
    with machine_lock(wait_seconds) as lock:
        started, began = utc_now(), seconds_now()
        rounds = list(_passes(gauge, lock, smoke))
    if path.exists():
        set_aside(path)
        _say(f"{path}: set aside: {reason}")
    write_record(
        path,
        {
            "schema": SHEET_SCHEMA,
            "machine": machine,
            "smoke": smoke,
            "digest": gauge.digest,
            "started": started,
            "wall_seconds": round(seconds_now() - began, 1),
            "provenance": {
                "machine": describe_as(machine),
                "commit": source_commit(ROOT),
                "versions": package_versions(),
            },
            "memory": {"caches": cache_bytes(usable_cores()), "accelerators": accelerator_bytes()},
            "rounds": rounds,
            "absent": [
                {
                    "profile": asdict(spec.profile),
                    "threads": spec.threads,
                    "cases": [asdict(case) for case in spec.cases],
                    "reason": reason,
                }
                for spec, reason in gauge.absent
            ],
        },
    )


def _passes(gauge: Gauge, lock: Held, smoke: bool) -> Iterator[dict[str, Any]]:
    """The records of all processes, those that are measured once before the others. After the least number of passes,
    another one only if it ends in time. What was disturbed is measured again in the next pass."""
    probes: dict[str, list[float]] = defaultdict(list)
    records: list[dict[str, Any]] = []

    def measure(specs: Sequence[RoundSpec], number: int) -> Iterator[dict[str, Any]]:
        for spec in random.Random(number).sample(specs, len(specs)):
            records.append(_measure(spec, number, lock, probes[spec.profile.name]))
            yield records[-1]

    began = seconds_now()
    if gauge.once:
        _say(f"hardware sheet: {len(gauge.once)} processes that are measured once")
    yield from measure(gauge.once, 1)
    passes_began, took = seconds_now(), 0.0
    for number in count(1):
        now, disturbed = seconds_now(), disturbed_profiles(records)
        if number > LEAST_PASSES and now - began + took > SECONDS:
            return
        # A machine that others use: a run has other things to measure. One that is only slow has its passes.
        if number > 1 and now - passes_began > PATIENCE * SECONDS and disturbed & _names(gauge.often):
            return
        is_time = number > 1 and now - began < PATIENCE * SECONDS
        again = [spec for spec in gauge.once if is_time and spec.id.profile in disturbed]
        specs = [*gauge.often, *again]
        _say(f"hardware sheet, pass {number}: {len(specs)} processes")
        yield from measure(specs, number)
        took = seconds_now() - now
        if smoke or number == MOST_PASSES:
            return


def _names(specs: Iterable[RoundSpec]) -> set[str]:
    return {spec.id.profile for spec in specs}


def _measure(spec: RoundSpec, number: int, lock: Held, probes: list[float]) -> dict[str, Any]:
    """One process. `probes` are those of this row so far, and then those of this process as well."""
    spec = replace(spec, id=replace(spec.id, index=number))
    record = dict(measure_turn([spec], lock, probes))[spec.id]
    probes += [one for case in record["cases"] for block in case["blocks"] for one in block["probe_seconds"]]
    return record | {"provenance": {key: value for key, value in record["provenance"].items() if key not in SHARED}}


def _say(text: str) -> None:
    print(f"respeed: {text}", file=sys.stderr, flush=True)
