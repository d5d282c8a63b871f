"""The facts of each machine, from its description and its records: facts.csv.

What the other tables have of a row, such as its threads, blocks and errors, is not repeated.
"""

from collections.abc import Iterator, Sequence
from operator import itemgetter

from respeed.analysis.cells import tell_apart
from respeed.analysis.tables import Fact, group_by
from respeed.machine import FIELDS, show_field
from respeed.records import Accelerator, Description, Import, Machine, Record
from respeed.text import counted

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


def _facts_of_process(record: Record, label: str) -> Iterator[Triple]:
    """Yield the facts of a process of the row `label`: its device, its software, and when and which code measured."""
    start = record.start
    device = start.accelerator or Accelerator()
    if device.power_limit_watts:
        yield "rounds", "power limit", f"{device.name or label}: {device.power_limit_watts:g} W"
    for result in record.results:
        if result.graphs:
            yield "rounds", "steps without graphs", f"{label}, {result.workload}: {result.graphs}"
    for name, version in start.versions.items():
        yield "software", name, version
    for library in start.libraries:
        kernel = f"({library.architecture})" if library.architecture else ""
        words = library.internal_api or "unknown", library.version, kernel
        yield "software", "libraries", " ".join(filter(None, words))
    yield "measured", "days", start.started[:10]
    yield "measured", "source", start.commit
    yield "measured", "seed", str(start.seed)
    backend = start.backend
    if backend:
        library_version = " ".join(filter(None, [backend.library, backend.version]))
        processors = f"{backend.multiprocessors} multiprocessors" if backend.multiprocessors else ""
        # What fused the work between products, or why nothing did; "torch" where nothing could be fused.
        fused_by = backend.elementwise if backend.elementwise != "torch" else ""
        parts = library_version, backend.kernel or backend.accelerator, processors, fused_by
        yield "profiles", label, ", ".join(filter(None, parts))
