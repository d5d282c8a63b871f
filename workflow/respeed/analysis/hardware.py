"""The facts of each machine, from its description and its records: facts.csv."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter

import pandas as pd

from respeed.analysis.cells import tell_apart
from respeed.analysis.estimates import largest
from respeed.analysis.tables import Fact, group_by
from respeed.machine import FIELDS, show_field
from respeed.protocol import REASONS, Block, reasons_of
from respeed.records import Accelerator, Description, Import, Record, Records
from respeed.text import counted, is_known

# Facts that may change from round to round on the same machine.
OF_ROUNDS = {
    "cpu_quota": "CPU quota",
    "frequency_governor": "CPU governor",
    "accelerator_driver": "accelerator's driver",
    "system": "system",
}
# Separates the values of a fact; a comma would not do, since some values are lists with commas.
SEPARATOR = "; "
UNKNOWN = "unknown"


def describe_machine(
    machine: str,
    records: Sequence[Record],
    rounds: pd.DataFrame,
    description: Description | None,
    imports: Sequence[Import] = (),
) -> list[Fact]:
    """Return a machine's rows of facts.csv; without records, from the machine's description alone.

    `records` are in order of time, and `rounds` are made from them; `imports` say where they came from. A fact that
    differs between processes is shown with all its values. A fact without a value has no row.
    """
    descriptions = [record.start.machine.model_dump() for record in records]
    descriptions = descriptions or ([description.hardware.model_dump()] if description else [])
    hardware = descriptions[-1]
    values = {fact: _join(_show(fact, facts[fact]) for facts in descriptions) for fact in (*FIELDS, *OF_ROUNDS)}
    values["usable_cores"] += f" of {hardware['logical_cpus'] or UNKNOWN} logical CPUs"
    summary = [hardware["cpu"], counted(hardware["usable_cores"], "core"), *hardware["accelerators"]]
    versions = pd.DataFrame([record.start.versions for record in records])
    days = sorted(record.start.started[:10] for record in records)
    commits = sorted({record.start.commit for record in records})
    seeds = sorted({record.start.seed for record in records})
    parts = {
        "summary": {"": ", ".join(filter(None, summary))},
        "hardware": {name: values[fact] for fact, name in FIELDS.items()},
        "rounds": {
            **{name: values[fact] for fact, name in OF_ROUNDS.items()},
            "devices": _join(_devices(records)),
            "steps without graphs": _join(_plain_steps(records)),
            "between products": _join(_between_products(records)),
            "clocks under load": _join(_clocks(records)),
        },
        "software": {
            **{str(name): _join(numbers.dropna(), ", ") for name, numbers in versions.items()},
            "libraries": ", ".join(_libraries(records)),
        },
        "measured": {
            "measured": f"{_join([days[0], days[-1]], ' to ')} (UTC)" if days else "nothing yet",
            "from others": _join(map(str, imports)),
            "processes": str(len(records)),
            "timed blocks": _count_blocks(rounds),
            "source": ", ".join(commits) or "–",
            "seed": ", ".join(map(str, seeds)) or "–",
        },
        "profiles": _profiles(records),
    }
    rows = []
    for part, facts in parts.items():
        rows += [Fact(machine, part, name, value) for name, value in facts.items() if value]
    return rows


def _count_blocks(rounds: pd.DataFrame) -> str:
    """Return how many blocks were timed, and how many do not count for each cause."""
    once = rounds.drop_duplicates("record")  # a round has a line for each table that shows it
    text = f"{once['blocks'].sum()}, of which {once['discarded'].sum()} discarded"
    causes = sum(once["cause_counts"], Counter[str]()).most_common()
    numbers = ", ".join(f"{cause}: {count}" for cause, count in causes)
    return f"{text} ({numbers})" if numbers else text


def _join(texts: Iterable[str], separator: str = SEPARATOR) -> str:
    """Return the distinct texts, in order, as one text."""
    return separator.join(dict.fromkeys(texts))


def _show(fact: str, value: object) -> str:
    """Return a value of a fact as text.

    Values with the same text count as one: the memory that the kernel reports differs by some bytes from boot to boot.
    """
    if value is None:
        return UNKNOWN if fact in FIELDS else "none"
    return f"{value:g} CPUs" if fact == "cpu_quota" else show_field(fact, value)


def _libraries(records: Records) -> list[str]:
    """Return the libraries that multiplied or shared work among threads, such as openblas 0.3.30 (SkylakeX)."""
    names = set()
    for record in records:
        for library in record.start.libraries:
            kernel = f"({library.architecture})" if library.architecture else ""
            names.add(" ".join(filter(None, (library.internal_api or "unknown", library.version, kernel))))
    return sorted(names)


def _devices(records: Records) -> Iterator[str]:
    """Yield each device's multiprocessors, power limit and driver, as found when a process started."""
    for record in records:
        device = record.start.accelerator or Accelerator()
        backend = record.start.backend
        limit = device.power_limit_watts
        usual = device.default_power_limit_watts
        texts = []
        if backend and backend.multiprocessors:
            texts.append(f"{backend.multiprocessors} multiprocessors")
        if limit:
            by_default = f" ({usual:g} W by default)" if usual and usual != limit else ""
            texts.append(f"power limit {limit:g} W{by_default}")
        if device.driver:
            texts.append(f"driver {device.driver}")
        if texts:
            yield f"{device.name or (backend and backend.accelerator)}: {', '.join(texts)}"


def _plain_steps(records: Records) -> list[str]:
    """Return the cases whose steps could not be captured as a graph and ran operation by operation, with the reason."""
    cases: dict[tuple[str, str], list[str]] = defaultdict(list)
    for record in records:
        for result in record.results:
            if result.graphs:
                sizes = " x ".join(str(size) for size in result.parameters.values() if isinstance(size, int))
                cases[record.start.profile.label, result.graphs].append(f"{result.workload} {sizes}".strip())
    return [f"{label}, {_join(names, ', ')}: {reason}" for (label, reason), names in cases.items()]


def _between_products(records: Records) -> Iterator[str]:
    """Yield, for each row on a device, the compiler that fused the work between matrix products, or why none did."""
    for record in records:
        fused_by = record.start.backend and record.start.backend.elementwise
        if fused_by and fused_by != "torch":  # where nothing could be fused, there is nothing to say
            yield f"{record.start.profile.label}: {fused_by}"


def _clocks(records: Records) -> Iterator[str]:
    """Yield each device row's clock, why it was not higher, and the highest power and temperature, after blocks."""
    for label, of_row in group_by(records, lambda record: record.start.profile.label).items():
        readings = [block.device[-1] for block in _blocks(of_row) if block.device]
        frame = pd.DataFrame(readings, columns=["sm_mhz", "highest_sm_mhz", "watts", "celsius"], dtype=float)
        clocks = frame["sm_mhz"]
        highest = frame.max()
        texts = []
        if is_known(highest["sm_mhz"]):
            of = f" of {highest['highest_sm_mhz']:,.0f}" if is_known(highest["highest_sm_mhz"]) else ""
            texts.append(f"ran at {clocks.median():,.0f}{of} MHz (lowest {clocks.min():,.0f})")
        for fact, unit in (("watts", "W"), ("celsius", "°C")):
            if is_known(highest[fact]):
                texts.append(f"at most {highest[fact]:,.0f} {unit}")
        if texts:
            yield ": ".join(filter(None, [f"{label} {', '.join(texts)}", ", ".join(_low_clocks(readings))]))


def _low_clocks(readings: Sequence[Mapping[str, float]]) -> Iterator[str]:
    """Yield each reason why a clock was not higher, with the number of readings that have the reason."""
    for bits, reason in REASONS.items():
        count = sum(bool(reasons_of(reading) & bits) for reading in readings)
        if count:
            yield f"{reason} after {count} of {len(readings)} blocks"


def _blocks(records: Records) -> Iterator[Block]:
    """Return the blocks of all results."""
    results = chain.from_iterable(record.results for record in records)
    return chain.from_iterable(result.blocks for result in results)


def _profiles(records: Records) -> dict[str, str]:
    """Return the software of each profile by label, as the measuring processes found it.

    The text has the library, kernel, threads, precision and the largest error of a checked step. The label, the threads
    asked for and the precision are from the last record.
    """
    by_profile = group_by([record for record in records if record.start.backend], attrgetter("profile"))
    labels = tell_apart({name: turns[-1].start.profile.label for name, turns in by_profile.items()})
    return {labels[name]: _describe_software(turns) for name, turns in sorted(by_profile.items())}


def _describe_software(turns: Sequence[Record]) -> str:
    """Return the software of one profile in words."""
    start = turns[-1].start
    backends = [turn.start.backend for turn in turns if turn.start.backend]
    ran = sorted({block.threads_ran for block in _blocks(turns) if block.threads_ran is not None})
    results = chain.from_iterable(turn.results for turn in turns)
    error = largest(chain.from_iterable(result.errors.values() for result in results))
    texts = [
        _join((" ".join(filter(None, (backend.library, backend.version))) for backend in backends), " or "),
        _join((backend.kernel or backend.accelerator or "" for backend in backends), " or "),
        f"threads: {start.threads} asked, {' or '.join(map(str, ran)) or 'not seen'} ran",
        start.profile.precision,
        "" if error is None else f"largest error {error:.0e}",
    ]
    return ", ".join(filter(None, texts))
