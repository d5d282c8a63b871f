"""The facts of each machine, from its description and its records: facts.csv.

What the other tables have of a row, such as its threads, blocks and errors, is not repeated.
"""

from collections.abc import Iterator, Sequence
from operator import attrgetter, itemgetter

from respeed.analysis.cells import tell_apart
from respeed.analysis.tables import Fact, group_by
from respeed.machine import FIELDS, show_field
from respeed.records import Accelerator, Description, Import, Machine, Record, Replay
from respeed.text import counted, format_share, measured_time

# The parts of the table, in order.
PARTS = ("summary", "hardware", "rounds", "software", "measured", "profiles")
# Facts of the hardware, by their fields, and facts that may change from round to round on the same machine.
HARDWARE = FIELDS | {"logical_cpus": "logical CPUs"}
OF_ROUNDS = {
    "cpu_quota": "CPU quota, in CPUs",
    "frequency_governor": "CPU governor",
    "accelerator_driver": "accelerator's driver",
    "system": "system",
}
# What a record's commit ends with if the files that measured differed from it.
CHANGES = "+changes"
# The commit of what is no clone.
UNKNOWN = "unknown"
# Separates the values of a fact; a comma would not do, since some values are lists with commas.
SEPARATOR = "; "

# The part, name and value of a fact.
Triple = tuple[str, str, str]


def describe_machine(
    machine: str, records: Sequence[Record], description: Description | None, imports: Sequence[Import] = ()
) -> list[Fact]:
    """Return a machine's rows of facts.csv; without records, from the machine's description alone.

    `records` are in order of time, and `imports` say where they came from. A fact that differs between processes is
    shown with all its values.
    """
    hardware = [record.start.machine for record in records]
    if description and not records:
        hardware = [description.hardware]
    last = hardware[-1]
    summary = [last.cpu, counted(last.usable_cores, "core"), *last.accelerators]
    triples = [("summary", "", ", ".join(filter(None, summary)))]
    for facts in hardware:
        triples += _facts_of_hardware(facts)
    profiles = {record.start.profile.name: record.start.profile.label for record in records}
    labels = tell_apart(profiles)
    for record in records:
        label = labels[record.start.profile.name]
        triples += _facts_of_process(record, label)
    triples += [("measured", "from others", str(entry)) for entry in imports]
    rows = []
    for (part, fact), alike in group_by(triples, itemgetter(0, 1)).items():
        values = dict.fromkeys(value for _, _, value in alike)
        rows.append(Fact(machine, part, fact, SEPARATOR.join(values)))
    return sorted(rows, key=lambda row: PARTS.index(row.part))


def _facts_of_hardware(hardware: Machine) -> Iterator[Triple]:
    """Yield the facts of a machine as a process found it.

    Values with the same text count as one: the memory that the kernel reports differs by some bytes from boot to boot.
    """
    values = hardware.model_dump()
    for field, name in HARDWARE.items():
        yield "hardware", name, show_field(field, values[field])
    for field, name in OF_ROUNDS.items():
        yield "rounds", name, str(values[field] or "none")


def has_changes(commit: str) -> bool:
    """Return whether a program that measured was none that anybody can get: its files differed from every commit."""
    return commit.endswith(CHANGES)


def say_source(commit: str) -> str:
    """Return a record's commit in words."""
    if commit == UNKNOWN:
        return "an installed respeed, and no clone"
    return f"{commit.removesuffix(CHANGES)} with changes that no commit has" if has_changes(commit) else commit


def say_replay(replay: Replay) -> str:
    """Return in words what a profiled step of a device showed, but for the names of its kernels."""
    if replay.reason or replay.kernels is None:
        return f"not profiled: {replay.reason}"
    text = counted(replay.kernels, "kernel")
    if replay.busy_share is not None:
        seconds = measured_time(replay.seconds, None, None).text
        text += f", the device busy for {format_share(replay.busy_share)} of {seconds}"
    if replay.cache_bytes and replay.inputs_bytes is not None and replay.weights_bytes is not None:
        used = replay.inputs_bytes + replay.weights_bytes
        verb = "lie in" if used <= replay.cache_bytes else "do not fit"
        text += f"; inputs and weights, {used / 1e6:.3g} MB, {verb} its cache of {replay.cache_bytes / 1e6:.3g} MB"
    return text


def _say_busy(replays: Sequence[Replay]) -> str:
    """Return how many kernels the steps of several cases had, and what share of a step the device was busy."""
    profiled = [replay for replay in replays if replay.kernels]
    if not profiled:
        return say_replay(replays[-1])
    numbers = [replay.kernels or 0 for replay in profiled]
    shares = [replay.busy_share or 0.0 for replay in profiled]
    kernels = f"{min(numbers)} to {max(numbers)} kernels" if min(numbers) < max(numbers) else f"{numbers[0]} kernels"
    return f"{kernels}, the device busy for {format_share(min(shares))} to {format_share(max(shares))} of a step"


def _facts_of_process(record: Record, label: str) -> Iterator[Triple]:
    """Yield the facts of a process of the row `label`: its device, its software, and when and which code measured."""
    start = record.start
    device = start.accelerator or Accelerator()
    if device.power_limit_watts:
        yield "rounds", "power limit", f"{device.name or label}: {device.power_limit_watts:g} W"
    for result in record.results:
        if result.graphs:
            yield "rounds", "steps without graphs", f"{label}, {result.workload}: {result.graphs}"
        if result.items:
            yield "rounds", "items of a step", f"{label}, {result.workload}: {result.items}"
    for workload, replays in group_by(record.replays, attrgetter("replay")).items():
        yield "rounds", "profiled steps", f"{label}, {workload}: {_say_busy(replays)}"
    for name, version in start.versions.items():
        yield "software", name, version
    for library in start.libraries:
        kernel = f"({library.architecture})" if library.architecture else ""
        words = library.internal_api or "unknown", library.version, kernel
        yield "software", "libraries", " ".join(filter(None, words))
    yield "measured", "days", start.started[:10]
    yield "measured", "source", say_source(start.commit)
    if start.study and start.study != UNKNOWN:
        yield "measured", "study", say_source(start.study)
    yield "measured", "seed", str(start.seed)
    backend = start.backend
    if backend:
        library_version = " ".join(filter(None, [backend.library, backend.version]))
        processors = f"{backend.multiprocessors} multiprocessors" if backend.multiprocessors else ""
        # What fused the work between products, or why nothing did; "torch" where nothing could be fused.
        fused_by = backend.elementwise if backend.elementwise != "torch" else ""
        parts = library_version, backend.kernel or backend.accelerator, processors, fused_by
        yield "profiles", label, ", ".join(filter(None, parts))
