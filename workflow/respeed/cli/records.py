"""Records carried from machine to machine: respeed export and import."""

import os
from pathlib import Path

from respeed.records import transfer
from respeed.records.models import Kind
from respeed.records.store import hold_folder
from respeed.text import counted


def export_records(file: Path, smoke: bool, machine: str | None) -> None:
    """Write records to a zip file, and say what is in it and what is to be done with it."""
    for name, records in transfer.export_records(file, smoke, machine).items():
        print(f"{name}: {counted(records, Kind.RECORD)}")
    print(f"wrote {file}, {file.stat().st_size:,} bytes")
    print(f"next, where it is to go: ./run respeed import {'--smoke ' if smoke else ''}{file.name}")


def import_records(path: Path, smoke: bool, name: str | None) -> None:
    """Add what is not here yet, and say what that was."""
    lock = hold_folder(smoke)
    try:
        machines = transfer.import_records(path, smoke, name)
    finally:
        os.close(lock)
    for machine, done in machines.items():
        new = ", ".join(counted(number, kind) for kind, number in sorted(done.new.items()))
        known = [f"{counted(done.known, 'file')} were here already"] if done.known else []
        print(f"{machine}: {'; '.join([f'new: {new}' if new else 'nothing new', *known, *done.lines])}")
    if any(done.new for done in machines.values()):
        print(f"next: ./run snakemake --cores all report{' --config preset=smoke' if smoke else ''}")
