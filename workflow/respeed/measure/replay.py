"""Profile one step of each case on a device, once all cases of the process are timed.

A profiler may slow down all that follows it in its process, or end the process: nothing is left to be spoiled then.
Each program is built anew, because the memory of a timed one was freed for the next.
"""

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from respeed.backends import Backend, Program, Span
from respeed.machine.process import Facts
from respeed.measure.order import Job
from respeed.measure.timing import seconds_now
from respeed.text import first_line, shorten
from respeed.workloads import make_workload
from respeed.workloads.arrays import Draws, Zeros

# A longer step has more kernels than a profiler takes in within some seconds.
MOST_STEP_SECONDS = 0.5
# Replays begin for so long in a process: who has lent a device waits for them.
MOST_SECONDS = 20.0
LONGEST = 5


def replay_cases(jobs: Iterable[Job], backend: Backend, emit: Callable[..., None]) -> None:
    """Profile a step of each case, and emit what came out as events, or why nothing did."""
    began = seconds_now()
    for job in jobs:
        if seconds_now() - began > MOST_SECONDS:
            return
        emit("replaying", case=f"{job.case.workload} {job.case.name}")
        emit("replay", facts=profile_case(job, backend))


def profile_case(job: Job, backend: Backend) -> Facts:
    """Return the facts of a profiled step of a case."""
    began = seconds_now()
    facts: Facts = {"replay": job.case.workload, "parameters": dict(job.case.parameters)}
    gc.collect()  # the last program and its captured steps refer to each other
    try:
        program = backend.build(make_workload(job.case), 0)
        if program.arrays.helpers:
            return facts | {"reason": "other processes compute for it"}
        spans = backend.trace(program.step)
        facts |= summarize(spans) | count_bytes(program) | {"cache_bytes": backend.cache_bytes}
    except Exception as error:  # of the profiler, its library or the device: the case itself was timed
        facts["reason"] = first_line(error)
    return facts | {"wall_seconds": round(seconds_now() - began, 3)}


def summarize(spans: Sequence[Span]) -> Facts:
    """Return how many kernels ran, for how long the device was busy, and the kernels that took longest."""
    if not spans:
        return {"reason": "the profiler saw no kernel"}
    nanoseconds = Counter[str]()
    counts = Counter[str]()
    busy = 0
    end = 0
    for name, first, last in sorted(spans, key=lambda span: span[1]):
        nanoseconds[name] += last - first
        counts[name] += 1
        busy += max(0, last - max(first, end))
        end = max(end, last)
    total = end - min(first for _, first, _ in spans)
    longest = []
    for name, taken in nanoseconds.most_common(LONGEST):
        longest.append({"name": shorten(name), "count": counts[name], "seconds": taken * 1e-9})
    share = busy / total if total else None
    return {"kernels": len(spans), "seconds": total * 1e-9, "busy_share": share, "longest": longest}


def count_bytes(program: Program) -> Facts:
    """Return the bytes of the inputs of a program's steps, all items of them, and of what the steps learn."""
    bytes_of = Counter[str]()
    for name, values in program.inputs.items():
        array: Any = getattr(program.arrays, name, None)
        kind = "weights_bytes" if name in program.workload.learned else "inputs_bytes"
        if kind == "weights_bytes" or not isinstance(values, Zeros | Draws):
            bytes_of[kind] += getattr(array, "nbytes", 0)
    return {"inputs_bytes": bytes_of["inputs_bytes"], "weights_bytes": bytes_of["weights_bytes"]}
