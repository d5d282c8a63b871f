"""Carries the records of machines elsewhere: export, import and verify. docs/carry.md says what is carried and how.

Everything is checked before anything is written, and nothing that is here is written over by less. A bundle is unpacked
into a temporary folder, and looked at a file at a time: one of any size is never held whole.
"""

import contextlib
import hashlib
import json
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from respeed.errors import UserError, nearest, refusal
from respeed.inputs.files import from_here, parse_yaml, read_bounded
from respeed.inputs.machines import Price, check_told, read_told
from respeed.machine.software import library_name, package_versions, telling_environment
from respeed.paths import MACHINES, NAME, SET_ASIDE, check_name, records_folder
from respeed.records.bundle import (
    MANIFEST,
    MAX_MEMBERS,
    check_machines,
    check_text,
    most_bytes,
    pack,
    packed_size,
    parse_plain,
    too_large,
    unpack,
    write_within,
)
from respeed.records.fingerprint import difference, fingerprint_of, name_of
from respeed.records.folder import hold_folder
from respeed.records.models import (
    HIGHEST_NUMBER,
    ROOT,
    Kind,
    Place,
    canonical,
    check_kind,
    check_place,
    is_checked,
    made_of,
    place_in_folders,
    place_of,
    resealed,
    shown,
    without_checksum,
)
from respeed.records.store import (
    described_machines,
    json_text,
    read_machine,
    recorded_machines,
    rename_command,
    write_text,
)
from respeed.text import visible

# Machine, paper, experiment, profile.
_DEEPEST = 4
# What a machine's own folder may lack, in older records; what somebody sends has to say which machine it is of.
_TOLD = (
    "cpu", "usable_cores", "cpu_flags", "memory_bytes", "accelerators", "logical_cpus", "cpu_quota", "system",
)  # fmt: skip
# A price takes some hundred bytes, and no machine costs so much an hour.
_LONGEST_PRICE, _HIGHEST_PRICE = 4000, 1e6


# --- one file


@dataclass(frozen=True)
class Item:
    """A file that is right, by the `source` that messages and `Files` know it by.

    Two of the same `content` say the same (see _content_of). `started` is empty where it has no date. `facts` are what
    it says of the machine, `measurement` what tells rounds that must not pool apart: digest and library. A price needs
    no checksum.
    """

    place: Place
    source: str
    content: str
    started: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    measurement: tuple[str, str] = ("", "")
    has_checksum: bool = True


def check_item(place: Place, data: bytes, smoke: bool, where: str) -> Item:
    """The file's item; UserError, one line that begins with `where`, if it is not what its place says."""
    value = _parse(place, data, where)
    if place.kind is Kind.TOLD:
        return Item(place, place.path, _content_of(place, value))
    check_kind(place.kind, value, where)
    check_place(place, value, smoke, where)
    facts = _facts(place.kind, value)
    missing = [key for key in _TOLD if facts is not None and key not in facts]
    if place.kind is Kind.DESCRIPTION:
        missing = [*sorted({"machine", "not_measurable"} - value.keys()), *missing]
    if missing:
        raise UserError(f"{where}: tells no {missing[0]}, and would pass for any machine's")
    measurement = ("", "")
    if place.kind is Kind.RECORD:
        measurement = (value["digest"], str(value["provenance"].get("backend", {}).get("package", "")))
    content, started = _content_of(place, value), value.get("started", "")
    return Item(place, place.path, content, started, facts or {}, measurement, is_checked(value))


def _facts(kind: Kind, value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a file says of its machine's hardware; None if nothing."""
    if kind is Kind.DESCRIPTION:
        found: Mapping[str, Any] | None = value["hardware"]
        return found
    return value["provenance"].get("machine") if kind in (Kind.RECORD, Kind.SHEET) else None


def _parse(place: Place, data: bytes, where: str) -> Any:
    """What a file says: a price's text, or the value of its JSON."""
    return _check_price(place.machine, data, where) if place.kind is Kind.TOLD else parse_plain(data, where)


def _content_of(place: Place, value: Any) -> str:
    """Two files have the same content, a SHA-256, if they say the same but for their machine's name, their number, and
    their checksum over these."""
    text = value if isinstance(value, str) else canonical(_say(place.kind, without_checksum(value), "", 0))
    return hashlib.sha256(text.encode()).hexdigest()


def _text_at(place: Place, value: Any) -> str:
    """The text of a file as it must stand at `place`: under that machine's name and number, and without what earlier
    versions kept of the environment. A new checksum stands where the old one held."""
    if isinstance(value, str):
        return value
    return json_text(resealed(value, _say(place.kind, value, place.machine, place.number)))


def _say(kind: Kind, value: dict[str, Any], machine: str, number: int | None) -> dict[str, Any]:
    if kind is Kind.RECORD:
        renamed = value["id"] | {"machine": machine} | ({} if number is None else {"index": number})
        return value | {"id": renamed, "provenance": _without_names(value["provenance"])}
    said = value | {"machine": machine}
    # A hardware sheet has rounds of its own, whose numbers say their order in it.
    if kind is Kind.SHEET:
        rounds = [_say(Kind.RECORD, one, machine, None) for one in value["rounds"]]
        said |= {"rounds": rounds, "provenance": _without_names(value["provenance"])}
    return said


def _without_names(provenance: dict[str, Any]) -> dict[str, Any]:
    """The same as a record is written today: of the environment what steers a measurement, of libraries their names.
    Earlier versions kept all variables of some families, with names of hosts and networks among them."""
    kept = dict(provenance)
    if isinstance(environment := kept.get("environment"), dict):
        kept["environment"] = telling_environment(environment)
    if "libraries" in kept:
        kept["libraries"] = [
            one | {"file": library_name(one["file"])} if isinstance(one.get("file"), str) else one
            for one in kept["libraries"]
        ]
    return kept


# --- the price, which is carried with the records; Slurm's resources and the choice of profiles stay at their site


def _carried_price(machine: str, folder: Path) -> str | None:
    """The text that a bundle carries of what is told of a machine here, None if no price is; UserError if the file is
    not valid."""
    if not (folder / f"{machine}.yaml").exists():
        return None
    told, mistakes = read_told(machine, folder)
    mistakes.raise_any()
    return _price_text(told.price) if told and told.price else None


def _check_price(machine: str, data: bytes, where: str) -> str:
    """The same text, of one that somebody sent; UserError if it does not tell a price."""
    try:
        told, mistakes = check_told(machine, data[: _LONGEST_PRICE + 1].decode("utf-8"), Path(where))
        mistakes.raise_any()
        price = told.price if told else None
        check_text(price.source if price else "")
    except ValueError as error:
        raise UserError(f"{where}: is no price ({error})") from None
    if price is None or price.per_hour > _HIGHEST_PRICE or len(data) > _LONGEST_PRICE:
        raise UserError(f"{where}: is no price that a machine has")
    return _price_text(price)


def _keep_price(machine: str, text: str, folder: Path) -> str | None:
    """Write the price where nothing is told of the machine here; says what happened, None if it is told already."""
    path = folder / f"{machine}.yaml"
    shown = from_here(path)
    if not path.exists():
        write_text(path, text)
        return f"its price is in {shown}"
    try:
        here = _carried_price(machine, folder)
    except UserError as error:
        return f"its price is left out, as what is told of it here is not valid: {str(error).splitlines()[0]}"
    if here is None:
        price = parse_yaml(text, str(shown))["price"]
        return (
            f"it costs {price['per_hour']:g} {price['currency']} an hour by what was imported; if that is right, write "
            f"it under price: in {shown}"
        )
    return None if here == text else f"its price is another in {shown} here, which stays"


def _price_text(price: Price) -> str:
    # JSON's texts are YAML's.
    return (
        f"price:\n  per_hour: {price.per_hour}\n  currency: {json.dumps(price.currency)}\n"
        f"  source: {json.dumps(price.source, ensure_ascii=False)}\n  date: {json.dumps(price.date)}\n"
    )


# --- many files


@dataclass
class Files:
    """Files of machines by the path that they have in a bundle: of the `bundle` that was unpacked, or of a folder; its
    other files are `left_out`, by the reason."""

    path: Path
    files: dict[str, Path]
    left_out: dict[str, list[Path]] = field(default_factory=dict)
    bundle: Path | None = None

    def where(self, source: str) -> str:
        """What messages call a file."""
        return f"{self.bundle}: {source}" if self.bundle else str(self.files[source])

    def read(self, source: str) -> bytes:
        """A file's bytes; UserError if it is no plain file by now, or larger than any of a bundle."""
        return read_bounded(self.files[source], most_bytes(source))

    def value(self, item: Item) -> Any:
        """What an item's file says; UserError if that is something else by now."""
        value = _parse(item.place, self.read(item.source), self.where(item.source))
        if _content_of(item.place, value) != item.content:
            raise UserError(f"{self.where(item.source)}: changed while it was read; give the same command again")
        return value

    def leave_out(self, source: str, reason: str) -> None:
        self.left_out.setdefault(reason, []).append(self.files.pop(source))


def _survey(files: Files, smoke: bool, machines: Mapping[str, Any], refuse: Callable[[UserError], None]) -> list[Item]:
    """Every item that is right, and of one machine for each name: of the one that the manifest tells of in `machines`,
    or else of which most are. `refuse` is told of each other one of a bundle; one of a folder is left out."""

    def left_out(source: str, line: str) -> None:
        where = files.where(source)
        if files.bundle:
            refuse(UserError(f"{where}: {line}"))
        else:
            files.leave_out(source, line)

    items = []
    for source in sorted(files.files):
        place, where = place_of(source), files.where(source)
        assert place is not None  # only such are in it
        try:
            item = check_item(place, files.read(source), smoke, where)
        except UserError as error:
            left_out(source, str(error).removeprefix(f"{where}: "))
            continue
        if found := difference(item.facts, machines.get(place.machine, {})):
            left_out(source, f"was made on another machine than the manifest tells of ({found})")
        else:
            items.append(item)
    right = []
    known = {machine: _fingerprint(mine) for machine, mine in _by_machine(items).items()}
    for item in items:
        if found := difference(item.facts, known[item.place.machine]):
            left_out(item.source, f"was made on another machine than the others ({found})")
        else:
            right.append(item)
    return right


def _refuse(error: UserError) -> None:
    raise error


def _by_machine(items: Iterable[Item]) -> dict[str, list[Item]]:
    """The items of each machine, in the order of its name."""
    machines: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        machines[item.place.machine].append(item)
    return dict(sorted(machines.items()))


def _fingerprint(items: Iterable[Item]) -> dict[str, Any]:
    """What tells the machine from others: as its description says it, and else as most of its files do."""
    items = list(items)
    described = next((item.facts for item in items if item.place.kind is Kind.DESCRIPTION), {})
    return fingerprint_of(described, [(item.facts, item.started) for item in items])


def _open_machines(path: Path, machine: str | None) -> Files:
    """A folder of machines' folders, such as results/records, or what it has of one machine."""
    folder, prefix = (path / machine, f"{machine}/") if machine else (path, "")
    return _sort_out(folder, prefix) if folder.exists() else Files(folder, {})


def _open_folder(path: Path) -> Files:
    """A machine's folder, a folder of such, or an unpacked bundle; UserError if it is none of them."""
    if (path / MANIFEST).is_file() and (path / ROOT).is_dir():
        path = path / ROOT
    # No file fits both: between a machine's folder and its file lie as many folders as the file's kind has.
    several, one = _sort_out(path, ""), _sort_out(path, "machine/")
    if several.files and one.files:
        raise UserError(f"{path}: is a machine's folder with others inside; give one of them")
    if not several.files and not one.files:
        raise UserError(f"{path}: has no records; give a folder as it lies under results/records, or a bundle")
    return several if several.files else _sort_out(path, f"{_machine_of(one)}/")


def _machine_of(files: Files) -> str:
    """What its files call the machine, whatever the folder is called."""
    for source in sorted(files.files):
        place = place_of(source)
        with contextlib.suppress(UserError, KeyError, TypeError):
            assert place is not None  # only such are in it
            machine = made_of(place.kind, parse_plain(files.read(source), "")).get("machine")
            if NAME.fullmatch(str(machine)):
                return str(machine)
    raise UserError(f"{files.path}: no file in it says what machine it is of")


def _sort_out(path: Path, machine: str) -> Files:
    """The files beneath `path`, as those of a bundle; `machine/` is put before their names, if anything."""
    found = Files(path, {})
    for number, file in enumerate(_plain_files(path)):
        if number >= MAX_MEMBERS:
            raise UserError(f"{path}: has more than {MAX_MEMBERS} files; give one machine's folder")
        if place := place_of(f"{ROOT}/{machine}{file.relative_to(path).as_posix()}"):
            found.files[place.path] = file
        else:
            reason = "set aside" if SET_ASIDE in file.name else "no file of a bundle"
            found.left_out.setdefault(reason, []).append(file)
    return found


def _plain_files(path: Path, depth: int = 0) -> Iterator[Path]:
    """Every plain file, but for hidden ones and what lies deeper than records do; UserError for what is no file."""
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    for entry in (entry for entry in entries if not entry.name.startswith(".")):
        if entry.is_dir(follow_symlinks=False):
            if depth < _DEEPEST:
                yield from _plain_files(path / entry.name, depth + 1)
        elif entry.is_file(follow_symlinks=False):
            yield path / entry.name
        else:
            raise UserError(
                f"{path}: {shown(entry.name)}: is a link or no plain file; put the file itself in its place"
            )


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """A temporary folder that is laid out as a bundle; UserError where it cannot be written, as on a full disk."""
    try:
        with tempfile.TemporaryDirectory(prefix="respeed-") as folder:
            yield Path(folder)
    except OSError as error:
        raise refusal(error, error.filename or tempfile.gettempdir()) or error from None


# --- export


@dataclass(frozen=True)
class Exported:
    """What was written: the number of records of each machine; and what was left out, by the reason."""

    records: Mapping[str, int]
    size: int
    left_out: Mapping[str, list[Path]]


def export_bundle(file: Path, smoke: bool = False, machine: str | None = None, told: Path = MACHINES) -> Exported:
    """Write the records of a machine, or of all, to `file`, whole or not at all; UserError if there are none, or it
    cannot be written."""
    if machine and machine not in (there := recorded_machines(smoke)):
        raise UserError(f"--machine: no records of {machine!r}{nearest(machine, there)}")
    files, kept = _open_machines(records_folder(smoke), machine), list[Item]()
    with _scratch() as folder:
        for item in _survey(files, smoke, {}, _refuse):
            data = b"" if item.place.kind is Kind.TOLD else _text_at(item.place, files.value(item)).encode()
            # As it is written, it is longer than one without line breaks.
            if data and (reason := too_large(item.place.path, len(data), packed_size(data))):
                files.leave_out(item.source, reason)
            elif data:
                write_within(folder, item.place.path, data)
                kept.append(item)
        machines = _by_machine(kept)
        if not machines:
            raise UserError(f"{records_folder(smoke)}: nothing to export; measure first: ./run snakemake --cores all")
        check_machines(len(machines), str(file), "export one at a time: --machine NAME")
        for name in machines:
            if price := _carried_price(name, told):
                write_within(folder, f"{ROOT}/{name}/told.yaml", price.encode())
        facts = {name: _fingerprint(mine) for name, mine in machines.items()}
        pack(file, folder, package_versions().get("respeed", "unknown"), smoke, facts)
    records = {name: sum(item.place.kind is Kind.RECORD for item in mine) for name, mine in machines.items()}
    return Exported(records, file.stat().st_size, files.left_out)


# --- import


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


@dataclass
class _Merge:
    """What is to be written of one machine, by its place, in order: what of it is here already, is not in it."""

    done: Imported = field(default_factory=Imported)
    steps: dict[Place, Item] = field(default_factory=dict)
    replaced: set[Place] = field(default_factory=set)


def import_bundle(path: Path, smoke: bool = False, name: str | None = None, told: Path = MACHINES) -> Outcome:
    """Add what a bundle or a folder has and is not here, under the machine's `name` if one is given.

    UserError, and nothing is written, if anything in a bundle is not right. A folder's files that are not are left out.
    """
    if name:
        check_name("machine", name, "--as")
    with _opened(path, smoke) as (files, items):
        machines = _by_machine(items)
        if name and len(machines) > 1:
            many = f"{len(machines)} machines ({', '.join(machines)})"
            raise UserError(f"{path}: --as {name}: has {many}; export one at a time")
        if name:
            machines = {name: [replace(item, place=replace(item.place, machine=name)) for item in items]}
        check_machines(len(machines), str(path), "import them in several bundles")
        lock = hold_folder(smoke)
        try:
            described = described_machines(smoke)
            merges = {one: _plan(one, mine, files, smoke, path, described) for one, mine in machines.items()}
            for merge in merges.values():
                _carry_out(merge, files, smoke, told)
        except OSError as error:
            where = error.filename or records_folder(smoke)
            raise UserError(f"{where}: {error.strerror}; when that is mended, give the same command again") from None
        finally:
            os.close(lock)
        return Outcome({one: merge.done for one, merge in merges.items()}, files.left_out)


@contextlib.contextmanager
def _opened(path: Path, smoke: bool) -> Iterator[tuple[Files, list[Item]]]:
    if os.path.isdir(path):
        files = _open_folder(path)
        items = _survey(files, smoke, {}, _refuse)
        if not items:
            reason, left_out = max(files.left_out.items(), key=lambda one: len(one[1]))
            raise UserError(f"{path}: has nothing that can be used; {shown(str(left_out[0]))}: {reason}")
        yield files, items
        return
    with _scratch() as folder:
        manifest = unpack(path, folder, _refuse)
        if manifest["smoke"] != smoke:
            kind, how = ("smoke", "with") if manifest["smoke"] else ("real", "without")
            raise UserError(f"{path}: is of {kind} records; import it {how} --smoke")
        files = _unpacked(path, folder)
        yield files, _survey(files, smoke, manifest["machines"], _refuse)


def _unpacked(bundle: Path, folder: Path) -> Files:
    return replace(_open_machines(folder / ROOT, None), bundle=bundle)


def _plan(
    machine: str, theirs: list[Item], files: Files, smoke: bool, path: Path, described: Mapping[str, Any]
) -> _Merge:
    """What becomes of a machine's items; UserError if they are of another machine than those here."""
    here = _open_machines(records_folder(smoke), machine)
    ours = _survey(here, smoke, {}, _refuse)
    # What says another name may be the same records, which would stand there twice once it is given this name.
    if here.left_out and (strangers := read_machine(smoke, machine).strangers):
        raise UserError(
            f"{here.path}: is of the machine {min(strangers.values())} by what is written in it; give it this "
            f"name first: {rename_command(machine, machine, False, smoke)}"
        )
    meant = _fingerprint(theirs)
    if found := difference(meant, _fingerprint(ours)):
        raise UserError(
            f"{path}: {machine} is another machine than the one of that name here ({found}); import it --as NAME"
        )
    merge, records = _Merge(), records_folder(smoke)
    cells: dict[tuple[str, ...], list[Item]] = defaultdict(list)
    for item in theirs:
        if item.place.number is None:
            _add_single(merge, item, theirs, ours, records)
        else:
            cells[(*item.place.folders, item.place.name.split("-")[0])].append(item)
    known = {(item.place.folders, item.content) for item in ours}
    for cell in cells.values():
        _add_numbered(merge, cell, known, records, str(path))
    if other := name_of(meant, machine, described):
        line = f"it is the machine that has records here as {other}: two names of one machine are two rows"
        merge.done.lines.append(line)
    merge.done.lines += _apart_lines(merge.steps.values(), files, ours, here)
    return merge


def _add_numbered(
    merge: _Merge, cell: list[Item], known: set[tuple[tuple[str, ...], str]], records: Path, where: str
) -> None:
    """Those of one cell that are not here, each under its own number where that is free, or else under the next one."""
    new = []
    for item in sorted(cell, key=lambda item: (item.started, item.place)):
        key = (item.place.folders, item.content)
        if key in known:
            merge.done.known[item.place.kind] += 1
        else:
            new.append(item)
        known.add(key)
    placed = {item.place: item for item in new if not _path(records, item.place).exists()}
    number = 1
    for item in (item for item in new if item.place not in placed):
        while (place := item.place.numbered(number)) in placed or _path(records, place).exists():
            number += 1
            if number > HIGHEST_NUMBER:
                raise UserError(f"{where}: {place.path}: there would be more than {HIGHEST_NUMBER} of these")
        placed[place] = item
    merge.steps |= placed


def _add_single(merge: _Merge, item: Item, theirs: list[Item], ours: list[Item], records: Path) -> None:
    """What a machine has one of: the newer stays."""
    here = next((one for one in ours if one.place == item.place), None)
    what = " ".join([*item.place.folders, f"{item.place.kind}"])
    if item.place.kind is Kind.TOLD:
        merge.steps[item.place] = item
    elif here is None and _path(records, item.place).exists():
        merge.done.lines.append(f"its {what} here cannot be used, and stays: delete it and import again")
    elif here is None:
        merge.steps[item.place] = item
    elif here.content == item.content:
        merge.done.known[item.place.kind] += 1
    elif _moment(item, theirs) > _moment(here, ours):
        merge.steps[item.place] = item
        merge.replaced.add(item.place)
        merge.done.lines.append(f"its {what} here was older, and is replaced")
    else:
        merge.done.lines.append(f"its {what} here is as new, and stays")


def _moment(item: Item, beside: list[Item]) -> str:
    """When it was made; of what has no date, when the last record beside it was."""
    return item.started or max((one.started for one in beside), default="")


def _path(records: Path, place: Place) -> Path:
    return records.joinpath(place.machine, *place.folders, place.name)


def _carry_out(merge: _Merge, files: Files, smoke: bool, told: Path) -> None:
    """Write what the merge says, each file whole."""
    for place, item in merge.steps.items():
        value, path = files.value(item), _path(records_folder(smoke), place)
        if place.kind is Kind.TOLD:
            merge.done.lines += filter(None, [_keep_price(place.machine, value, told)])
            continue
        if path.exists() and place not in merge.replaced:
            raise UserError(f"{path}: was written while something was imported; give the same command again")
        write_text(path, _text_at(place, value))
        merge.done.new[place.kind] += 1


def _apart_lines(new: Iterable[Item], files: Files, ours: Iterable[Item], here: Files) -> list[str]:
    """A line for each thing in which new records of a cell differ, by their digest and library, from the last one that
    is here, or else from the last of the new ones: as the estimators do, such never pool."""
    cells: dict[tuple[tuple[str, ...], bool], list[tuple[Item, Files]]] = defaultdict(list)
    for items, source in ((new, files), (ours, here)):
        for item in items:
            if item.place.kind is Kind.RECORD:
                cells[item.place.folders, item.place.is_whole].append((item, source))
    found: Counter[str] = Counter()
    for cell in cells.values():
        mine = [one for one in cell if one[1] is here]
        last, where = max(mine or cell, key=lambda one: one[0].started)
        apart = [item for item, source in cell if source is files and not _pools(item, last)]
        for measurement, count in Counter(item.measurement for item in apart).items():
            first = next(item for item in apart if item.measurement == measurement)
            found[_why_apart(files.value(first), where.value(last))] += count
    return [
        f"{number} records are of another measurement ({reason}) and never pool: tables show the last of each cell"
        for reason, number in found.most_common()
    ]


def _pools(one: Item, other: Item) -> bool:
    """The same digest and library, which a process that never started cannot tell."""
    (digest, package), (other_digest, other_package) = one.measurement, other.measurement
    return digest == other_digest and (package == other_package or not package or not other_package)


# What a profile is called decides no measurement (schedule/spec.py).
_WORDS = {"label", "package", "architecture", "optional", "price_per_hour"}


def _why_apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The first thing in which two records of a cell differ, such as "seed 7, not 2009"."""
    there, here = dict(_decisive(one)), dict(_decisive(other))
    differing = (name for name, value in there.items() if name in here and here[name] != value)
    name = next(differing, None)
    return f"{name} {there[name]}, not {here[name]}" if name else "other cases in the table"


def _decisive(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What decides a measurement, by names that people know; the most telling first."""
    profile = record["profile"]
    yield "precision", profile["precision"]
    yield from ((f"profile.{key}", profile[key]) for key in sorted(profile.keys() - _WORDS - {"precision"}))
    yield from (("threads", record["threads"]), ("seed", record["seed"]))
    yield from ((f"timing.{key}", value) for key, value in sorted(record["timing"].items()))
    for case in record["cases"]:
        for key, value in sorted(case["parameters"].items()):
            yield f"{case['case']} {case['workload']} {key}", value
    if package := record["provenance"].get("backend", {}).get("package"):
        yield "library", package


# --- verify


@dataclass
class Verified:
    """Files by machine, all of them and those without a checksum; a line that begins with its path for each that is not
    right, and for each that is none of a machine's."""

    files: Counter[str] = field(default_factory=Counter)
    unchecked: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)

    @property
    def is_right(self) -> bool:
        return not self.wrong and not self.strange


def verify(path: Path) -> Verified:
    """Check a bundle, a file, or all files beneath a folder; UserError if there are none."""
    found = Verified()
    if path.is_dir():
        for file in _json_files(path):
            _verify_file(file, found)
    elif path.suffix == ".json" or not path.exists():
        _verify_file(path, found)
    else:
        _verify_bundle(path, found)
    if not found.files:
        raise UserError(f"{path}: has no records; give results/records, a folder or a file in it, or a bundle")
    return found


def _json_files(folder: Path, depth: int = 0) -> Iterator[Path]:
    # As deep as results/smoke/records/<machine>/<paper>/<experiment>/<profile>.
    for path in sorted(path for path in folder.iterdir() if not path.name.startswith(".")):
        if path.is_dir() and depth < _DEEPEST + 3:
            yield from _json_files(path, depth + 1)
        elif path.suffix == ".json" and not path.is_dir():
            yield path


def _verify_file(path: Path, found: Verified) -> None:
    # A file is of the folders that it lies in, however far from here it was asked for.
    full = Path(os.path.abspath(path))
    place = place_in_folders(full)
    if place is None:
        if any(above.name == ROOT for above in full.parents[: _DEEPEST + 1]):
            found.strange.append(visible(f"{path}: no machine's file is called that; nothing reads it"))
        return
    try:
        data = parse_plain(read_bounded(path, most_bytes(place.path)), str(path))
        check_kind(place.kind, data, str(path))
        check_place(place, data, _is_smoke(place, full, data), str(path))
    except UserError as error:
        found.wrong.append(str(error))
    else:
        found.unchecked[place.machine] += not is_checked(data)
    found.files[place.machine] += 1


def _is_smoke(place: Place, path: Path, data: Any) -> bool:
    """Which kind the file should be of: that of its folder of results; elsewhere of any, as an import takes both."""
    home = path.parents[len(place.folders) + 1].parts
    for smoke in (False, True):
        if home[-len(records_folder(smoke).parts) :] == records_folder(smoke).parts:
            return smoke
    return bool(made_of(place.kind, data).get("smoke"))


def _verify_bundle(path: Path, found: Verified) -> None:
    def wrong(error: UserError) -> None:
        found.wrong.append(str(error))

    with _scratch() as folder:
        manifest = unpack(path, folder, wrong)
        for item in _survey(_unpacked(path, folder), manifest["smoke"], manifest["machines"], wrong):
            found.unchecked[item.place.machine] += not item.has_checksum
        found.files.update(member["path"].split("/")[1] for member in manifest["members"])
