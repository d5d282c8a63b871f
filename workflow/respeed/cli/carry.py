"""respeed export and respeed import: records as one file, to take elsewhere."""

from collections.abc import Mapping
from pathlib import Path

from respeed.records.models import Kind, shown
from respeed.records.transfer import Imported, export_bundle, import_bundle


def export_records(file: Path, smoke: bool, machine: str | None) -> None:
    """Write the bundle, and say what is in it and what is to be done with it."""
    done = export_bundle(file, smoke, machine)
    for name, records in done.records.items():
        print(f"{name}: {_count(records, Kind.RECORD)}")
    _say_left_out(done.left_out)
    print(f"wrote {file}, {done.size:,} bytes")
    print(f"next, where it is to go: ./run respeed import {'--smoke ' if smoke else ''}{file.name}")


def import_records(path: Path, smoke: bool, name: str | None) -> None:
    """Add what is not here yet, and say what that was."""
    outcome = import_bundle(path, smoke, name)
    for machine, done in outcome.machines.items():
        print(f"{machine}: {_summary(done)}")
        for line in done.lines:
            print(f"{machine}: {line}")
    _say_left_out(outcome.left_out)
    if any(done.new for done in outcome.machines.values()):
        print(f"next: ./run snakemake --cores all pdf{' --config preset=smoke' if smoke else ''}")


def _summary(done: Imported) -> str:
    known = f"{_count(done.known.total(), 'file')} were here already" if done.known else ""
    if not done.new:
        return f"nothing new; {known}" if known else "nothing new"
    new = ", ".join(_count(number, kind) for kind, number in sorted(done.new.items()))
    return "; ".join(filter(None, [f"new: {new}", known]))


def _count(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number} {what}s"


def _say_left_out(left_out: Mapping[str, list[Path]]) -> None:
    for reason, files in left_out.items():
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        print(f"left out: {shown(str(files[0]))}{more}: {reason}")
