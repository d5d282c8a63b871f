"""The records under one machine's name that are of one machine; the others are named, and never pool with them."""

import contextlib
import sys
import traceback
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from respeed.errors import UserError
from respeed.model.identity import HOST, difference, fingerprint_of
from respeed.paths import record_folders, record_paths, records_folder, renaming_mark
from respeed.records.files import described_as, made_anew, read_description, read_json, read_placed
from respeed.records.layout import Kind
from respeed.records.names import free_name
from respeed.text import visible


@dataclass(frozen=True)
class LeftOut:
    """A record of another machine: the first field that `differs`, with both values, and the record itself."""

    differs: str
    record: dict[str, Any]

    @property
    def made_on(self) -> dict[str, Any]:
        return made_on(self.record)


@dataclass(frozen=True)
class MachineRecords:
    """What lies in one machine's folder, by path.

    `records` are of the machine that `fingerprint` tells, `left_out` those of another under its name; `strangers` say
    another name than their folder's, and its description the name `described_as`; `damaged` cannot be used, or belong
    elsewhere, each with its line.
    """

    machine: str = ""
    smoke: bool = False
    records: dict[Path, dict[str, Any]] = field(default_factory=dict)
    fingerprint: dict[str, Any] = field(default_factory=dict)
    left_out: dict[Path, LeftOut] = field(default_factory=dict)
    strangers: dict[Path, str] = field(default_factory=dict)
    damaged: dict[Path, str] = field(default_factory=dict)
    described_as: str = ""

    @property
    def lines(self) -> list[str]:
        """What a reader must know of the records that are not used: a line for each reason."""
        return [*self._damaged_lines(), *self.identity_lines]

    @property
    def identity_lines(self) -> list[str]:
        """Those about records of other machines."""
        folder = records_folder(self.smoke) / self.machine
        lines = [
            f"{folder}: {_counted(count)} left out: of the machine {name} by what is written in them; if all in this "
            f"folder is {self.machine}'s: {rename_command(self.machine, self.machine, False, self.smoke)}"
            for name, count in Counter(self.strangers.values()).items()
        ]
        if self.described_as not in ("", self.machine, *self.strangers.values()):
            lines.append(
                f"{folder}: its description is left out: of the machine {self.described_as} by what is written in it; "
                f"if it is {self.machine}'s: {rename_command(self.machine, self.machine, False, self.smoke)}"
            )
        lines += [
            f"{folder}: {_counted(count)} left out: made on other hardware than {self.machine}'s: {differs}; to give "
            f"that machine a name of its own: {self.rename_left_out}"
            for differs, count in Counter(one.differs for one in self.left_out.values()).items()
        ]
        if renaming_mark(self.machine, self.smoke).exists():
            lines.append(f"{folder}: a renaming was stopped; to end it: {self._begun_rename()}")
        return lines

    @cached_property
    def second_name(self) -> str:
        """A name that is free for the machine whose records are left out."""
        hosts = Counter(one.made_on[HOST] for one in self.left_out.values() if one.made_on.get(HOST))
        return free_name(self.machine, max(hosts, key=lambda host: hosts[host], default=None))

    @property
    def rename_left_out(self) -> str:
        return rename_command(self.machine, self.second_name, True, self.smoke)

    def _begun_rename(self) -> str:
        try:
            begun = read_json(renaming_mark(self.machine, self.smoke))
            return rename_command(begun["old"], begun["new"], begun["only_left_out"], self.smoke)
        except (UserError, KeyError, TypeError):
            return "give the same `respeed rename` again"

    def _damaged_lines(self) -> list[str]:
        by_reason: dict[str, list[Path]] = {}
        for path, line in self.damaged.items():
            by_reason.setdefault(line.removeprefix(visible(str(path))), []).append(path)
        folder = records_folder(self.smoke) / self.machine
        return [
            visible(
                (
                    f"left out: {paths[0]}{reason}"
                    if len(paths) == 1
                    else f"{folder}: {_counted(len(paths))} left out, such as {paths[0]}{reason}"
                )
                + f"; {made_anew(self.machine, len(paths))}"
            )
            for reason, paths in by_reason.items()
        ]


def rename_command(old: str, new: str, only_left_out: bool, smoke: bool) -> str:
    """What to type."""
    return f"./run respeed rename {old} {new}{' --left-out' * only_left_out}{' --smoke' * smoke}"


def read_machine(smoke: bool, machine: str) -> MachineRecords:
    """Read a machine's folder."""
    damaged, strangers, found = dict[Path, str](), dict[Path, str](), dict[Path, dict[str, Any]]()
    for path in record_paths(smoke, machine):
        try:
            record = read_placed(Kind.RECORD, path, smoke)
        except UserError as error:
            damaged[path] = str(error)
            continue
        if record["id"]["machine"] == machine:
            found[path] = record
        else:
            strangers[path] = record["id"]["machine"]
    described = (read_description(machine, smoke) or {}).get("hardware") or {}
    meant = fingerprint_of(described, [(made_on(one), one["started"]) for one in found.values()])
    left_out = {
        path: LeftOut(differs, record)
        for path, record in found.items()
        if (differs := difference(made_on(record), meant))
    }
    mine = {path: record for path, record in found.items() if path not in left_out}
    said = described_as(machine, smoke)
    return MachineRecords(machine, smoke, mine, meant, left_out, strangers, damaged, said)


def made_on(record: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of the machine that a record was made on; older records tell fewer."""
    return record["provenance"].get("machine") or {}


def read_records(smoke: bool, machine: str) -> list[dict[str, Any]]:
    """The records of one machine, in the order of their paths. Those of other machines under its name, and those that
    cannot be used, are left out, with a line for each reason."""
    found = read_machine(smoke, machine)
    for line in found.lines:
        print(f"respeed: {line}", file=sys.stderr)
    return list(found.records.values())


def read_machines(smoke: bool, only: Collection[str] | None = None) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The records of each machine, or of `only` those, one machine at a time. UserError at the end if there are record
    files, but none of them can be used."""
    names = sorted(only) if only else list(record_folders(smoke))
    used = 0
    for machine in names:
        records: list[dict[str, Any]] = []
        with left_out_if_odd(machine, smoke):
            records = read_records(smoke, machine)
        used += len(records)
        yield machine, records
    files = 0 if used else sum(len(record_paths(smoke, machine)) for machine in names)
    if files:
        what = f"none of the {files} record files can be used" if files > 1 else "the one record file cannot be used"
        raise UserError(f"{records_folder(smoke)}: {what}; the lines above say why")


@contextlib.contextmanager
def left_out_if_odd(machine: str, smoke: bool) -> Iterator[None]:
    """What is done over one machine's data: where they are so odd that nobody thought of it, a line names the machine,
    which is left out, and the others are shown."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # whatever it is, it is of this machine alone
        last = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}: {error}, in {Path(last.filename).name}:{last.lineno}"
        line = f"{records_folder(smoke) / machine}: no table can be made of its files ({what})"
        print(visible(f"respeed: left out: {line}; please report it: respeed should have said why"), file=sys.stderr)


def _counted(count: int) -> str:
    return f"{count} record{'s' if count > 1 else ''} {'are' if count > 1 else 'is'}"
