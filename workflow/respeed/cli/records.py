"""respeed export, import, verify and rename: records as one file, to carry elsewhere, and their machine's name."""

import os
from collections.abc import Mapping
from pathlib import Path

from respeed.errors import UserError
from respeed.inputs.config import load_config
from respeed.machine.description import machine_slug
from respeed.paths import records_folder
from respeed.records.folder import hold_folder
from respeed.records.models import Kind, shown
from respeed.records.rename import adopt_strangers, rename_left_out, rename_machine
from respeed.records.transfer import Imported, export_bundle, import_bundle, verify


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


def verify_records(path: Path | None, smoke: bool) -> int:
    """Print a line for each file that is not right, for each machine that has some without a checksum, and for all; the
    exit code is 2 if any is not right."""
    found = verify(path or records_folder(smoke))
    for line in [*found.wrong, *found.strange]:
        print(line)
    for machine, count in sorted(found.unchecked.items()):
        if count:
            print(f"{machine}: {count} without a checksum: nothing tells whether they were changed")
    files, wrong, unchecked = found.files.total(), len(found.wrong), found.unchecked.total()
    machines = f"{len(found.files)} machine{'s' * (len(found.files) != 1)}"
    counts = [f"{files - wrong - unchecked} hold"]
    counts += [f"{unchecked} without a checksum"] if unchecked else []
    counts += [f"{wrong} not right"] if wrong else []
    print(f"{files} file{'s' * (files != 1)} of {machines}: {', '.join(counts)}")
    return 0 if found.is_right else 2


def rename(old: str, new: str, left_out: bool, smoke: bool) -> None:
    """Rename, and print what was done; UserError if there is nothing to rename or the new name is taken."""
    named = load_config(strict=False).machine
    lock = hold_folder(smoke)
    try:
        if left_out:
            files = rename_left_out(old, new, smoke)
        else:
            files = adopt_strangers(new, smoke) if old == new else rename_machine(old, new, smoke)
    except OSError as error:
        raise UserError(
            f"{records_folder(smoke)}: cannot be changed: {error.strerror}; mend that, then give the same command again"
        ) from None
    finally:
        os.close(lock)
    counted = f"{files} files are" if files > 1 else "1 file is"
    print(f"{counted} of {new} now, in {records_folder(smoke) / new}")
    if old != new and not left_out and (named or machine_slug()) == old:
        why = "in config.yaml" if named else "by itself"
        print(f"this machine is {old} {why}; to measure on as {new}: --config machine={new} (or in config.yaml)")
