"""Reads a bundle or a folder, and adds what is not here yet; everything is checked before anything is written."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from respeed.bundle.apart import apart_lines
from respeed.bundle.archive import open_archive
from respeed.bundle.contents import Item, parse, renamed, text_of
from respeed.bundle.folder import open_folder, open_machines
from respeed.bundle.limits import check_machines
from respeed.bundle.merge import Merge, Step, plan_merge, rename_items
from respeed.bundle.survey import Source, by_machine, fingerprint, survey_archive, survey_folder
from respeed.bundle.told import keep_price
from respeed.errors import UserError
from respeed.paths import MACHINES, check_name, records_folder
from respeed.records.files import write_text
from respeed.records.hold import hold_folder
from respeed.records.known_host import described_machines, name_of
from respeed.records.layout import Kind, shown
from respeed.records.one_machine import read_machine


@dataclass
class Imported:
    """What came of one machine's files: how many of each kind were new and how many were here, and what else people
    must know."""

    new: Counter[Kind] = field(default_factory=Counter)
    known: Counter[Kind] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Outcome:
    """Of every machine, by name; and what was left out of a folder, by the reason."""

    machines: Mapping[str, Imported]
    left_out: Mapping[str, list[Path]]


def import_bundle(path: Path, smoke: bool = False, name: str | None = None, told: Path = MACHINES) -> Outcome:
    """Add what a bundle or a folder has and is not here, under the machine's `name` if one is given.

    UserError, and nothing is written, if anything in a bundle is not right. A folder's files that are not are left out.
    """
    if name:
        check_name("machine", name, "--as")
    with _open(path, smoke) as (source, items, left_out):
        if name:
            items = rename_items(items, name, str(path))
        machines = by_machine(items)
        check_machines(len(machines), str(path), "import them in several bundles")
        lock = hold_folder(smoke)
        try:
            described = described_machines(smoke)
            merges = [_plan(machine, mine, source, smoke, path, described) for machine, mine in machines.items()]
            done = {merge.machine: _carry_out(merge, source, smoke, told) for merge in merges}
        except OSError as error:
            where = error.filename or records_folder(smoke)
            raise UserError(f"{where}: {error.strerror}; when that is mended, give the same command again") from None
        finally:
            os.close(lock)
        return Outcome(done, left_out)


def _plan(
    machine: str, theirs: list[Item], source: Source, smoke: bool, path: Path, described: Mapping[str, Any]
) -> Merge:
    here = open_machines(records_folder(smoke), machine)
    ours = survey_folder(here, smoke)
    # What says another name may be the same records, which would stand there twice once it is given this name.
    if here.left_out and (strangers := read_machine(smoke, machine).strangers):
        raise UserError(
            f"{here.path}: is of the machine {min(strangers.values())} by what is written in it; give it this "
            f"name first: ./run respeed rename {machine} {machine}{' --smoke' * smoke}"
        )
    merge = plan_merge(machine, theirs, ours, records_folder(smoke), str(path))
    if other := name_of(fingerprint(theirs), machine, described):
        merge.lines.append(f"it is the machine that has records here as {other}: two names of one machine are two rows")
    merge.lines += apart_lines([step.item for step in merge.steps], source, ours, here)
    return merge


@contextmanager
def _open(path: Path, smoke: bool) -> Iterator[tuple[Source, list[Item], Mapping[str, list[Path]]]]:
    if os.path.isdir(path):
        folder = open_folder(path)
        items = survey_folder(folder, smoke)
        if not items:
            reason, files = max(folder.left_out.items(), key=lambda one: len(one[1]))
            raise UserError(f"{path}: has nothing that can be used; {shown(str(files[0]))}: {reason}")
        yield folder, items, folder.left_out
        return
    with open_archive(path) as archive:
        if archive.manifest.smoke != smoke:
            how = "with" if archive.manifest.smoke else "without"
            raise UserError(
                f"{path}: is of {'smoke' if archive.manifest.smoke else 'real'} records; import it {how} --smoke"
            )
        yield archive, survey_archive(archive), {}


def _carry_out(merge: Merge, source: Source, smoke: bool, told: Path) -> Imported:
    """Write what the merge says, each file whole."""
    done = Imported(known=Counter(item.place.kind for item in merge.known), lines=list(merge.lines))
    for step in merge.steps:
        if step.place.kind is Kind.TOLD:
            _keep_price(step, source, told, done)
        else:
            _write(step, source, records_folder(smoke))
            done.new[step.place.kind] += 1
    return done


def _keep_price(step: Step, source: Source, told: Path, done: Imported) -> None:
    text = parse(step.place, source.read(step.item.source), source.where(step.item.source))
    if line := keep_price(step.place.machine, text, told):
        done.lines.append(line)


def _write(step: Step, source: Source, records: Path) -> None:
    where = source.where(step.item.source)
    data = source.read(step.item.source)
    path = records.joinpath(step.place.machine, *step.place.folders, step.place.name)
    if hashlib.sha256(data).hexdigest() != step.item.sha256 or (path.exists() and not step.replaces):
        raise UserError(f"{where}: changed while it was imported; give the same command again")
    write_text(path, text_of(renamed(step.place, parse(step.place, data, where))))
