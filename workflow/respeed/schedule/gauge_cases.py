"""The cases of the hardware sheet: a step and its products on a ladder of threads, and what else a machine reaches."""

from collections.abc import Collection, Iterable

from respeed.analysis.hardware_sheet import CACHES
from respeed.inputs.registry import runs, workloads
from respeed.machine.cpu import KINDS, Core
from respeed.machine.description import describe_machine
from respeed.machine.memory import cache_bytes
from respeed.model.paper import Case

# Of Raina et al.: V x H, in mini-batches of 192. The larger one still takes a tenth of a second on one core.
SIZES, SMOKE_SIZES, BATCH = ((576, 1024), (1024, 4096)), ((36, 64),), 192
# The bytes of each of the two arrays of a copy, which together are CACHES times the largest cache.
LEAST_BYTES, MOST_BYTES, MEMORY_SHARE = 2**26, 2**29, 16
HOST_COPY_LENGTH = 2**26


def thread_counts(cores: int) -> list[int]:
    """All up to 4, then powers of two, and all cores."""
    powers = [2**power for power in range(2, cores.bit_length())]
    return sorted({*range(1, min(cores, 4) + 1), *(count for count in powers if count <= cores), cores})


def cores_in_turn(usable: Collection[int], topology: Iterable[Core]) -> tuple[int, ...]:
    """The usable cores as threads are added: the fast kind before the other, one socket after another."""
    known = {core.cpus[0]: core for core in topology}

    def place(cpu: int) -> tuple[bool, int, int]:
        core = known.get(cpu, Core((cpu,)))
        return core.kind not in (None, KINDS[0]), core.socket or 0, cpu

    return tuple(sorted(usable, key=place))


def scaled_cases(threads: int, cores: Collection[int], smoke: bool) -> list[Case]:
    """The step and its products; on one core and on all, what else the machine reaches there."""
    cases = []
    for V, H in SMOKE_SIZES if smoke else SIZES:
        sizes = {"visible": V, "hidden": H, "batch": BATCH}
        cases += [
            Case(f"{V}x{H}", "rbm", {**sizes, "learning_rate": 0.01}),
            Case(f"{V}x{H}", "cd1_products", {**sizes, "patches": 1}),
        ]
    if threads not in (1, len(cores)):
        return cases
    length = 2**16 if smoke else _copy_length(cores)
    cases += [_product(64 if smoke else _side(threads)), Case("memory", "memory_copy", {"length": length})]
    return [*cases, _small("spread" if threads > 1 else "waited")]


def rate_cases(backend: str, device: str, precision: str, threads: int) -> list[Case]:
    """What is measured once in a setting: a product, and in single precision what does not hang on the precision."""
    if device == "cpu":  # copies and small steps are the same whatever multiplies: they are measured with the curve
        return [case for case in [_product(_side(threads))] if runs(case.workload, backend, precision)]
    cases = [_product(side) for side in (4096, 8192)]
    if precision == "fp32":
        cases += [_small(how) for how in ("waited", "queued", "graph")]
        cases.append(Case("memory", "memory_copy", {"length": MOST_BYTES // 4}))
        ways = [(direction, memory) for direction in ("to", "from") for memory in ("pinned", "pageable")]
        cases += [
            Case(f"{way}-{memory}", "copies", {"length": HOST_COPY_LENGTH, "direction": way, "memory": memory})
            for way, memory in ways
        ]
    return [case for case in cases if runs(case.workload, backend, precision)]


def rehearsals_of(cases: Iterable[Case]) -> tuple[Case, ...]:
    """A rehearsal of each workload that has something to load; of a small step in the way that it is asked for."""
    found = {case.workload: case for case in reversed(tuple(cases)) if case.workload != "copies"}
    asked = {
        name: {key: value for key, value in case.parameters.items() if key == "how"} for name, case in found.items()
    }
    return tuple(Case("tiny", name, workloads()[name].tests["smoke"] | how) for name, how in asked.items())


def _product(side: int) -> Case:
    return Case(f"{side}x{side}", "matmul", {"m": side, "k": side, "n": side})


def _side(threads: int) -> int:
    """Of a square product that is near its highest rate on so many cores: more of them need a larger one."""
    return 2048 if threads <= 16 else 4096


def _small(how: str) -> Case:
    return Case(how, "small_step", {"count": 20 if how == "spread" else 100, "how": how})


def _copy_length(cores: Collection[int]) -> int:
    """Elements of each array of a copy: a power of two, so that memory which differs a little makes no difference."""
    wanted = CACHES * max(cache_bytes(cores).values(), default=MOST_BYTES // CACHES) / 2
    most = min(MOST_BYTES, int(describe_machine()["memory_bytes"]) // MEMORY_SHARE)
    size = LEAST_BYTES
    while size < wanted and 2 * size <= most:
        size *= 2
    return size // 4
