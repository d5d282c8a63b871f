"""Measure the cases of one measuring process (a turn): build, check, warm up, time and check again each case.

All cases of a process share a `Bench`: the backend, and the reference probe on the backend's threads. Results are
compared with plain NumPy in float64.
"""

import contextlib
import gc
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from respeed.backends import Backend, Program, make_backend, set_within
from respeed.errors import NotMeasurable, ProgramFailed, WrongResult, is_of_the_disk
from respeed.machine.devices import clock_reader, device_facts, energy_counters
from respeed.machine.process import Facts, allowed_cpus, memory_free, telling_environment
from respeed.machine.software import blas_libraries
from respeed.measure.order import Job, Order, untimed
from respeed.measure.replay import MOST_STEP_SECONDS, replay_cases
from respeed.measure.timing import (
    NO_METER,
    Meter,
    Probe,
    Timer,
    best_seconds,
    make_probe,
    prove_threads,
    seconds_now,
    time_steps,
    warm_up,
)
from respeed.model import Case, number_bytes
from respeed.text import counted, shorten
from respeed.workloads import Pairs, Workload, make_workload
from respeed.workloads.arrays import largest_error
from respeed.workloads.matmul import Matmul
from respeed.workloads.program import Runner
from respeed.workloads.vector_sum import MemoryCopy

# Large enough that every BLAS spreads it over its threads, small enough for a few milliseconds.
PROBE = Matmul(m=448, k=448, n=448)
# Up to this many threads, every BLAS was seen to use all of them for the probe.
MANY = 8
# CPU time and elapsed time are never read at quite the same moment.
MOST_TAKEN = 1.05
# Up to this many threads, patches of all sizes were faster one by one. On 16, Python's lock kept threads waiting for
# one another: patches of 24x24 pixels ran at 14 % of the rate of a plain product.
FEW_THREADS = 8
# Squares are doubled until a product takes this long: a shorter one does not fill a device with many cores.
PRODUCT_SECONDS = 0.005
SIDES = (1024, 2048, 4096, 8192)
# Several times larger than any cache but the largest; read and written once each.
COPY_BYTES = 64 * 2**20
# The same on a device, whose caches may be as large.
DEVICE_COPY_BYTES = 512 * 2**20
# The share of a device's free memory that one of the copy's two arrays may take.
MOST_OF_FREE = 0.2
# Host memory that building and checking a case takes, divided by the memory of its arrays. The check draws its inputs
# again piece by piece; factors of up to 1.3 were seen at the larger sizes.
CHECK_FACTOR = 2

# Largest error of any array of the state, over the largest value of the reference. Steps in fp64 come to at most 5e-14,
# and to 3e-8 or more where nothing but their products, or what is between these, is of fp32. Steps in fp32 come to at
# most 6e-5; the same steps with their inputs rounded to TF32's ten bits come to 2e-4 to 1.1e-3, cut off after ten to
# 2.4e-3; in fp16 they come to 3e-4 to 7e-4, in bf16, of seven bits, to 2.7e-3 to 5e-3: at smoke sizes as at real ones.
# So bf16 does not pass as fp16, neither these nor TF32 as fp32, and nothing in fp32 as fp64. Products in fp32 that are
# made of products in TF32 or bf16 must be as good as any in fp32.
TOLERANCE = {
    "fp64": 1e-10, "fp32": 1e-4, "tf32x3": 1e-4, "bf16x9": 1e-4, "tf32": 5e-3, "fp16": 2e-3, "bf16": 1.5e-2,
}  # fmt: skip


@dataclass(frozen=True)
class Bench:
    """The backend and the reference probe, shared by the cases of a process.

    `rehearsed` are the tiny cases that the process has already run.
    """

    backend: Backend
    probe: Probe
    rehearsed: set[str] = field(default_factory=set)
    meter: Meter = NO_METER


def make_bench(backend: Backend, meter: Meter = NO_METER) -> tuple[Bench, Facts]:
    """Return a bench with a new probe, and the proof of how many threads really ran during that probe."""
    probe = make_probe(backend.build(PROBE, 0).step, backend.sync, synchronous=backend.synchronous)
    return Bench(backend, probe, meter=meter), prove_threads(probe)


def check_threads(threads: int, proof: Facts, most: int, *, is_shared: bool = False) -> None:
    """Raise NotMeasurable if a wrong number of threads ran.

    The library has at most `most` threads, which may be fewer than the row's cores: OpenBLAS in wheels has 64.

    If the library has more threads than the row (`is_shared`), the calling thread may work beside the `threads` of the
    library's pool, but all together may not take the time of more than `threads` CPUs.
    """
    taken = proof["cpus_taken"]
    ran = proof["threads_ran"]
    if is_shared and taken > MOST_TAKEN * threads:
        raise NotMeasurable(f"took the time of {taken:.1f} CPUs, {threads} asked")
    is_right = ran is None or ran in (threads, threads + is_shared)
    # On many cores a library may choose to use fewer, and the record says how many; on few it does not.
    if not is_right and not (threads > MANY and min(threads // 2, most) <= ran < threads):
        raise NotMeasurable(f"{counted(ran, 'thread')} ran, {threads} asked")


def measure_ceilings(backend: Backend) -> dict[str, float]:
    """Measure `flops_per_second` of a square matrix product and `bytes_per_second` of a copy, once per process.

    The bytes of a copy are those read and those written. On a device, many steps are queued at a time: if the host
    waited for each step, or the device's clock had not risen yet, both rates would be too low.
    """
    width = number_bytes(backend.precision)
    best = 0.0
    for side in SIDES:
        square = Matmul(m=side, k=side, n=side)
        seconds = _best_seconds(backend, square)
        best = max(best, square.flops() / seconds)
        if seconds >= PRODUCT_SECONDS:
            break
    size = COPY_BYTES
    if not backend.synchronous:
        free = backend.bytes_free() or math.inf
        size = int(min(DEVICE_COPY_BYTES, max(COPY_BYTES, MOST_OF_FREE * free)))
    copy = MemoryCopy(length=size // width)
    copied = width / 4 * copy.traffic_bytes() / _best_seconds(backend, copy)
    return {"flops_per_second": best, "bytes_per_second": copied}


def _best_seconds(backend: Backend, workload: Workload) -> float:
    return best_seconds(backend.build(workload, 0).step, backend.sync, synchronous=backend.synchronous)


def measure_cases(order: Order, emit: Callable[..., None]) -> None:
    """Measure the cases of an order, and emit the results as events.

    First comes `ready`, with the facts about the process, or else only `not-run`, with the reason. Then come, for each
    case, a `begin`, and a `case` with the facts about the case. If a case left the process without its
    device, `lost` follows: the remaining cases need another process.
    """
    profile = order.profile
    seed = derive_seed(order.seed, profile.name, order.cases[0].number, "draws")
    try:
        backend = make_backend(
            profile.backend,
            device=profile.device,
            precision=profile.precision,
            threads=order.threads,
            seed=seed,
        )
        described = backend.describe()
        pci = described.get("pci")
        counters, why_not = energy_counters(profile.device, pci)
        meter = Meter(tuple(counters), clock_reader(profile.device, pci))
        bench, proof = make_bench(backend, meter)
        if profile.is_cpu:
            check_threads(order.threads, proof, described["threads_set"], is_shared=backend.shares_cores)
        ceilings = measure_ceilings(backend)
    except Exception as error:  # such as a device whose memory another program has taken
        emit("not-run", reason=_why_not(error))
        return
    ready = {
        "backend": described,
        "energy": {"reason": why_not or None},
        "libraries": blas_libraries(),
        "environment": telling_environment(),
        "affinity": allowed_cpus() or None,
        "threads_proof": proof,
        "ceilings": ceilings,
    }
    if accelerators := pci and device_facts(pci):
        ready["accelerator"] = accelerators[0]
    emit("ready", **ready)
    # Each case collects the garbage of the last one: objects of the loaded libraries need not be gone through every
    # time.
    gc.freeze()
    profiled = []
    for job in order.cases:
        emit("begin", case=f"{job.case.workload} {job.case.name}")
        facts = measure_case(order, job, bench)
        emit("case", facts=facts)
        if facts["status"] != "measured" and _is_lost(bench):
            emit("lost")
            return
        if _is_profiled(job, facts):
            profiled.append(job)
    if backend.has_profiler:
        replay_cases(profiled, backend, emit)


def _is_profiled(job: Job, facts: Facts) -> bool:
    """Return whether a step of a case is profiled: one of this process, once, as it is the same in each round."""
    if job.number > 1 or facts["status"] != "measured" or "executables" in facts:
        return False
    is_short: bool = facts["warmup"].step_seconds <= MOST_STEP_SECONDS
    return is_short


def _is_lost(bench: Bench) -> bool:
    """Return whether all further calls of this process to the device fail, as the probe shows.

    This is so after some errors, such as an access to an invalid address or an uncorrectable memory error, but not
    after a lack of memory.
    """
    try:
        bench.probe.seconds()
    except Exception:  # of any library
        return True
    return False


def measure_case(order: Order, job: Job, bench: Bench) -> Facts:
    """Measure a case and return its facts for the record. A case that fails has a reason and no times."""
    precision = order.profile.precision
    facts = untimed(job, "measured")
    began = seconds_now()
    # A program and its captured steps refer to each other: only this frees the last case's arrays.
    gc.collect()
    try:
        workload = make_workload(job.case)
        width = number_bytes(precision) / 4  # workloads count 4 bytes a number
        facts |= {
            "flops": workload.flops(),
            "traffic_bytes": width * workload.traffic_bytes(),
            "memory_bytes": width * workload.memory_bytes(),
            "parts": dict(workload.parts()),
            "together": workload.together,
            "tolerance": job.case.program.get("tolerance", TOLERANCE[precision]),
        }
        _check_memory(workload.memory_bytes(), width, bench.backend)
        _measure(order, job, workload, bench, facts)
    except Exception as error:  # out of memory on a device, a library's own error: this case fails, the turn goes on
        status = {NotMeasurable: "not-run", WrongResult: "wrong"}.get(type(error), "failed")
        facts |= {"status": status, "reason": _why_not(error), "warmup": None, "blocks": []}
    return facts | {"wall_seconds": round(seconds_now() - began, 3)}


def _why_not(error: Exception) -> str:
    """Return an error as a one-line reason for the record.

    An error of the disk, such as when compiled kernels cannot be stored, is raised again: it says nothing about a case.
    """
    if is_of_the_disk(error):
        raise error
    if isinstance(error, NotMeasurable | WrongResult | ProgramFailed):
        return str(error)
    return ": ".join(filter(None, (type(error).__name__, shorten(str(error)))))


def _check_memory(memory_bytes: float, width: float, backend: Backend) -> None:
    """Raise NotMeasurable if a program whose arrays take `memory_bytes` in fp32 does not fit in memory.

    On the host, array elements have `width` times as many bytes as in fp32.
    """
    on_device = memory_bytes * backend.memory_factor
    on_host = CHECK_FACTOR * memory_bytes * width + (on_device if backend.unified else 0.0)
    needs = {"GPU memory": (on_device, backend.bytes_free()), "memory": (on_host, memory_free())}
    for memory, (needed, free) in needs.items():
        if free is not None and needed > free:
            raise NotMeasurable(f"needs {needed / 1e9:.1f} GB of {memory}, has {free / 1e9:.1f}")


def _measure(order: Order, job: Job, workload: Workload, bench: Bench, facts: Facts) -> None:
    """Build a case's program, check and time it, and add the results to `facts`.

    Raises WrongResult if a check fails, or if steps ran on too many threads.
    """
    backend = bench.backend
    workload = workload.on_row(order.profile.architecture, order.profile.device)
    if not workload.is_outside:
        _rehearse(job, bench)
    backend.why_plain()  # forgets the reasons of programs before this one
    program = backend.build(workload, derive_seed(order.seed, job.case.key, job.number, "data"))
    in_pieces = backend.in_pieces
    if workload.divisible and backend.has_stacks and order.threads > FEW_THREADS:
        in_pieces = is_faster_in_pieces(program)
        facts["items"] = "each on a core of its own" if in_pieces else "all at once"
    with set_within(backend, "in_pieces", in_pieces):
        _time_program(order, job, program, bench, facts)


def _time_program(order: Order, job: Job, program: Program, bench: Bench, facts: Facts) -> None:
    backend = bench.backend
    if reason := backend.why_plain():
        facts["graphs"] = f"no: {reason}"
    runner = program.arrays.runner
    timer = _timer(order, program, bench, runner)
    if not runner:
        _check_and_time(order, job, program, timer, facts)
        return
    with contextlib.closing(runner):
        facts["executables"] = runner.executables
        _check_and_time(order, job, program, timer, facts, runner)


def is_faster_in_pieces(program: Program) -> bool:
    """Return whether a CPU takes the items of a step faster one by one, on a core each, than all at once."""
    seconds: dict[bool, float] = {}
    for in_pieces in (True, False):
        with set_within(program.backend, "in_pieces", in_pieces):
            program.step()
            seconds[in_pieces] = time_steps(program.step, program.backend.sync)
    program.begin_anew()
    return seconds[True] <= seconds[False]


def _check_and_time(
    order: Order, job: Job, program: Program, timer: Timer, facts: Facts, runner: Runner | None = None
) -> None:
    """Time a program's steps, and compare one of them with float64 (see `_checked_share`).

    On a CPU, a long step is timed at once: nothing has to warm up, since what a first step loads was rehearsed, and all
    memory was written to when the program was built.
    """
    backend = program.backend
    timing = order.timing
    judged = partial(judge, tolerance=facts["tolerance"], looser=backend.looser)
    first = timer.one_step()
    share = _checked_share(order, job)
    is_long = backend.synchronous and not runner and first.seconds > timing.long_seconds
    if share == 0 or is_long:
        facts["errors"] = judged(program.check())
    for _ in range(program.other_graphs):
        program.step_anew()
        judged(program.check(), when="in another of its graphs: ")
    warm_seconds = first.seconds
    if runner:
        warm_seconds = runner.run_seconds
        # A program that prints the time of a part runs as long as one that does not.
        part = min(1.0, first.seconds / warm_seconds)
        timer = replace(timer, protocol=replace(timing, measure_seconds=part * timing.measure_seconds))
    # A run of an outside program is done when it returns, wherever it computes.
    is_synchronous = backend.synchronous or runner is not None
    warmup = warm_up(program.step, timer.sync, timing, warm_seconds, synchronous=is_synchronous)

    def check_when_due(seconds: float) -> bool:
        """Check a step once so many seconds of steps are timed, unless one was checked before."""
        is_due = not facts["errors"] and seconds >= share * timer.protocol.measure_seconds
        if is_due:
            program.step_anew()
            facts["errors"] = judged(program.check(), when="after timed steps: ")
        return is_due

    blocks = (first,) if is_long else timer.blocks(warmup.step_seconds, check_when_due)
    check_when_due(math.inf)
    # The probe has proved that the pool has as many threads as were asked for; a step may use fewer, never more.
    # Counted are threads of every block: NumPy's own threads still spin for a moment after the float64 reference.
    most = min(block.threads_ran or 0 for block in blocks)
    if order.profile.is_cpu and most > threads_allowed(order.threads, backend.pools, is_shared=backend.shares_cores):
        raise WrongResult(f"ran on {most} threads, {order.threads} asked")
    facts |= {"warmup": warmup, "blocks": blocks}


def _checked_share(order: Order, job: Job) -> float:
    """Return after which share of the timed steps the result is checked, on new inputs; 0 is the first step.

    Round 1 checks the first step, round 2 the last one, and each later round a step that the seed draws. So a result
    that is wrong at first, or from some step on, is seen in two rounds.
    """
    if job.number <= 2:
        return float(job.number - 1)
    return 1.0 - random.Random(derive_seed(order.seed, job.case.key, job.number, "check")).random()


def judge(pairs: Pairs, tolerance: float, looser: Mapping[str, float], when: str = "") -> dict[str, float]:
    """Return the largest error of each array, divided by the largest value of the array's reference.

    Raises WrongResult, which names the first wrong array, if an error is not finite, or exceeds both `tolerance` and
    the array's own tolerance in `looser`.
    """
    errors = {name: largest_error(pair) for name, pair in pairs.items()}
    for name, error in errors.items():
        allowed = max(tolerance, looser.get(name, 0.0))
        if not error <= allowed:  # nor is NaN
            raise WrongResult(
                f"{when}wrong result: {name} is off by {error:.2g} of its largest value, {allowed:.0e} allowed"
            )
    return errors


def _rehearse(job: Job, bench: Bench) -> None:
    """Run a step of a tiny case in each of the backend's `rehearsals`, so that no timed step loads or compiles code.

    If possible, the tiny case has the same text parameters, such as the activation, as the case asked for.
    """
    tiny_cases = [case for case in job.rehearsals if case.workload == job.case.workload]
    tiny = min(tiny_cases, key=lambda case: _texts(case) != _texts(job.case), default=None)
    if tiny and tiny.key not in bench.rehearsed:
        for rehearsal in bench.backend.rehearsals():
            with rehearsal:
                bench.backend.build(make_workload(tiny), 0).step()
                bench.backend.sync()
        # Freeing a graph may wait for the device: not while a step is timed.
        gc.collect()
        bench.rehearsed.add(tiny.key)


def _texts(case: Case) -> Facts:
    return {name: value for name, value in case.parameters.items() if isinstance(value, str)}


def _timer(order: Order, program: Program, bench: Bench, runner: Runner | None) -> Timer:
    backend = bench.backend
    helpers = program.arrays.helpers
    timer = Timer(
        parts=program.parts,
        sync=backend.sync,
        protocol=order.timing,
        probe=bench.probe,
        synchronous=backend.synchronous,
        helpers=helpers,
        is_shared=backend.shares_cores,
        busy=getattr(backend, "busy", None),
    )
    if runner:
        timer = replace(timer, own_seconds=runner.own_seconds, happened=runner.happened)
    elif not helpers:
        timer = replace(timer, marked=backend.marked)
    # Each replica has its own device, but the counter is of one device. And if only a part of a process is timed, the
    # energy of the process is not that of the part.
    is_metered = runner.counts_whole if runner else order.profile.is_cpu or not helpers
    return replace(timer, meter=bench.meter) if is_metered else timer


def threads_allowed(threads: int, pools: int, *, is_shared: bool = False) -> int:
    """Return how many threads a step may run on, with `pools` pools of `threads` threads each.

    The calling thread belongs to every pool; only one pool works at a time. If the library has more threads than the
    row (`is_shared`), a pool may also have `threads` threads besides the calling one.
    """
    return max(1 + pools * (threads - 1), threads + is_shared)


def derive_seed(seed: int, key: str, number: int, purpose: str) -> int:
    """Return a 63-bit seed for a `purpose`, "data", "draws" or "check", in round `number`.

    For data, `key` is the case's, so that all rows have the same data; for draws, it is the row's name.
    """
    return random.Random(f"{seed}/{key}/{number}/{purpose}").getrandbits(63)
