"""Carries the records of machines elsewhere: export, import and verify. docs/machines.md says what is carried and how.

Everything is checked before anything is written, and nothing that is here is written over by less.
"""

import contextlib
import hashlib
import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from respeed.errors import UserError, nearest
from respeed.inputs.files import from_here, read_bounded
from respeed.inputs.forms import faultless
from respeed.inputs.machines import PLACEHOLDER, Price, check_told, told_of
from respeed.machine.software import library_name, telling_environment
from respeed.paths import MACHINES, NAME, SET_ASIDE, check_name, records_folder
from respeed.records.bundle import (
    MANIFEST,
    MAX_MEMBERS,
    check_machines,
    check_text,
    most_bytes,
    pack,
    parse_plain,
    unpack,
    why_too_large,
)
from respeed.records.fingerprint import difference, fingerprint_of, name_of
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
    under_name,
    without_checksum,
)
from respeed.records.store import (
    described_machines,
    hold_folder,
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
# Told of a file that cannot be used: where it is, and why.
Refuse = Callable[[str, str], None]


# --- one file


@dataclass(frozen=True)
class Item:
    """A file that is right: its bytes, and what messages call it.

    Two of the same `content` say the same (see _content_of). `started` is empty where it has no date. `facts` are what
    it says of the machine.
    """

    place: Place
    data: bytes
    where: str
    content: str
    started: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> Any:
        """What it says: a price, or the value of its JSON. Not kept, as it takes ten times the room of the bytes."""
        return _parse(self.place, self.data, self.where)


def check_item(place: Place, data: bytes, smoke: bool, where: str) -> Item:
    """The file's item; UserError, one line that begins with `where`, if it is not what its place says."""
    value = _parse(place, data, where)
    if place.kind is Kind.TOLD:
        return Item(place, data, where, _content_of(place, value))
    check_kind(place.kind, value, where)
    check_place(place, value, smoke, where)
    facts, missing = dict[str, Any](), list[str]()
    match place.kind:
        case Kind.DESCRIPTION:
            facts = value["hardware"]
            missing = [*sorted({"machine", "not_measurable"} - value.keys()), *_untold(facts)]
        case Kind.RECORD | Kind.SHEET if (machine := value["provenance"].get("machine")) is not None:
            facts, missing = machine, _untold(machine)
    if missing:
        raise UserError(f"{where}: does not say the {missing[0]}; without it, it could be of any machine")
    return Item(place, data, where, _content_of(place, value), value.get("started", ""), facts)


def _untold(facts: Mapping[str, Any]) -> list[str]:
    return [key for key in _TOLD if key not in facts]


def _parse(place: Place, data: bytes, where: str) -> Any:
    return _check_price(place.machine, data, where) if place.kind is Kind.TOLD else parse_plain(data, where)


def _content_of(place: Place, value: Any) -> str:
    """Two files have the same content, a SHA-256, if they say the same but for their machine's name, their number, and
    their checksum over these."""
    if place.kind is not Kind.TOLD:
        return hashlib.sha256(canonical(without_checksum(_said_at(place, value, "", 0))).encode()).hexdigest()
    return hashlib.sha256(_price_text(value).encode()).hexdigest()


def _text_at(place: Place, value: dict[str, Any]) -> str:
    """The text of a file as it must stand at `place`: under that machine's name and number, and without what earlier
    versions kept of the environment. A new checksum stands where the old one held."""
    return json_text(resealed(value, _said_at(place, value, place.machine, place.number)))


def _said_at(place: Place, value: dict[str, Any], machine: str, number: int | None) -> dict[str, Any]:
    said = under_name(value, machine)
    if place.kind is Kind.RECORD:
        said["id"]["index"] = number
    for one in (said, *said["rounds"]) if place.kind is Kind.SHEET else (said,):
        if place.kind in (Kind.RECORD, Kind.SHEET):
            one["provenance"] = _without_names(one["provenance"])
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


def _check_price(machine: str, data: bytes, where: str) -> Price:
    """The price that somebody sent; UserError if it is none."""
    try:
        price = faultless(check_told(machine, data[: _LONGEST_PRICE + 1].decode("utf-8"), Path(where))).price
        check_text(price.source if price else "")
    except ValueError as error:
        raise UserError(f"{where}: is no price ({error})") from None
    if price is None or price.per_hour > _HIGHEST_PRICE or len(data) > _LONGEST_PRICE:
        raise UserError(f"{where}: is no price that a machine has")
    return price


def _keep_price(machine: str, price: Price, folder: Path) -> str | None:
    """Write the price where nothing is told of the machine here; says what happened, None if it is told already."""
    path = folder / f"{machine}.yaml"
    try:
        told = told_of(machine, folder)
    except UserError as error:
        return f"its price is left out, as what is told of it here is not valid: {str(error).splitlines()[0]}"
    if price.source == PLACEHOLDER:
        return "its price is left out: its source is the text of the starter, and says nothing"
    if told is None:
        write_text(path, _price_text(price))
        return f"its price is in {from_here(path)}"
    if told.price is None:
        return (
            f"it costs {price.per_hour:g} {price.currency} an hour by what was imported; if that is right, write it "
            f"under price: in {from_here(path)}"
        )
    return None if told.price == price else f"its price is another in {from_here(path)} here, which stays"


def _price_text(price: Price) -> str:
    # JSON's texts are YAML's.
    return (
        f"price:\n  per_hour: {price.per_hour}\n  currency: {json.dumps(price.currency)}\n"
        f"  source: {json.dumps(price.source, ensure_ascii=False)}\n  date: {json.dumps(price.date)}\n"
    )


# --- many files


@dataclass
class Folder:
    """Files of machines in a folder, by the place that they have in a bundle; those that a bundle cannot have are
    `left_out`, by the reason."""

    path: Path
    files: dict[Place, Path] = field(default_factory=dict)
    left_out: dict[str, list[Path]] = field(default_factory=lambda: defaultdict(list))

    def leave_out(self, where: str, reason: str) -> None:
        self.left_out[reason].append(Path(where))

    def survey(self, smoke: bool) -> list[Item]:
        """The items that are right; what is not is left out."""
        read = [
            (place, str(file), partial(read_bounded, file, most_bytes(place.path)))
            for place, file in self.files.items()
        ]
        return _survey(read, smoke, {}, self.leave_out)


def _survey(
    files: Iterable[tuple[Place, str, Callable[[], bytes]]], smoke: bool, machines: Mapping[str, Any], refuse: Refuse
) -> list[Item]:
    """Every item that is right, and of one machine for each name: of the one that the manifest tells of in `machines`,
    or else of which most are. `refuse` is told of each other one."""
    items = []
    for place, where, read in sorted(files, key=lambda file: file[0].path):
        try:
            item = check_item(place, read(), smoke, where)
        except UserError as error:
            refuse(where, str(error).removeprefix(f"{where}: "))
            continue
        if found := difference(item.facts, machines.get(place.machine, {})):
            refuse(where, f"was made on another machine than the manifest tells of ({found})")
        else:
            items.append(item)
    right = []
    known = {machine: _fingerprint(mine) for machine, mine in _by_machine(items).items()}
    for item in items:
        if found := difference(item.facts, known[item.place.machine]):
            refuse(item.where, f"was made on another machine than the others ({found})")
        else:
            right.append(item)
    return right


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


def _unpack(path: Path, refuse: Refuse) -> tuple[dict[str, Any], list[Item]]:
    """What a bundle's manifest says, and its items."""
    manifest, members = unpack(path, refuse)
    read = [
        (place, f"{path}: {name}", partial(bytes, data)) for name, data in members.items() if (place := place_of(name))
    ]
    return manifest, _survey(read, manifest["smoke"], manifest["machines"], refuse)


def _open_machines(path: Path, machine: str | None) -> Folder:
    """A folder of machines' folders, such as results/records, or what it has of one machine."""
    folder = path / machine if machine else path
    return _sort_out(folder, f"{machine}/" if machine else "") if folder.exists() else Folder(folder)


def _open_folder(path: Path) -> Folder:
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


def _machine_of(folder: Folder) -> str:
    """What its files call the machine, whatever the folder is called."""
    for place, file in sorted(folder.files.items()):
        with contextlib.suppress(UserError, KeyError, TypeError, AttributeError):
            data = parse_plain(read_bounded(file, most_bytes(place.path)), "")
            machine = made_of(place.kind, data).get("machine")
            if NAME.fullmatch(str(machine)):
                return str(machine)
    raise UserError(f"{folder.path}: no file in it says what machine it is of")


def _sort_out(path: Path, machine: str) -> Folder:
    """The files beneath `path`, as those of a bundle; `machine` is put before their names, if anything. UserError for
    what is no file."""
    found = Folder(path)
    for number, file in enumerate(_files_beneath(path, _DEEPEST)):
        if file.is_symlink() or not file.is_file():
            what = "is a link or no plain file; put the file itself in its place"
            raise UserError(f"{file.parent}: {shown(file.name)}: {what}")
        if number >= MAX_MEMBERS:
            raise UserError(f"{path}: has more than {MAX_MEMBERS} files; give one machine's folder")
        if place := place_of(f"{ROOT}/{machine}{file.relative_to(path).as_posix()}"):
            found.files[place] = file
        else:
            found.leave_out(str(file), "set aside" if SET_ASIDE in file.name else "no file of a bundle")
    return found


def _files_beneath(folder: Path, deepest: int, *, through_links: bool = False) -> Iterator[Path]:
    """All that is no folder, in order, but for hidden things and what lies deeper. UserError if a folder cannot be
    read."""
    try:
        paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise UserError(f"{folder}: cannot be read: {error.strerror}") from None
    for path in paths:
        if not path.is_dir() or (path.is_symlink() and not through_links):
            yield path
        elif deepest:
            yield from _files_beneath(path, deepest - 1, through_links=through_links)


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
    folder, kept, members = _open_machines(records_folder(smoke), machine), list[Item](), dict[str, bytes]()
    for item in folder.survey(smoke):
        if item.place.kind is Kind.TOLD:
            continue
        # As it is written, it is longer than one without line breaks.
        data = _text_at(item.place, item.value).encode()
        if reason := why_too_large(item.place.path, data):
            folder.leave_out(item.where, reason)
        else:
            members[item.place.path] = data
            kept.append(item)
    machines = _by_machine(kept)
    if not machines:
        raise UserError(f"{records_folder(smoke)}: nothing to export; measure first: ./run snakemake --cores all")
    check_machines(len(machines), str(file), "export one at a time: --machine NAME")
    for name in machines:
        if (price := told_of(name, told)) and price.price:
            members[f"{ROOT}/{name}/told.yaml"] = _price_text(price.price).encode()
    pack(file, members, smoke, {name: _fingerprint(mine) for name, mine in machines.items()})
    records = {name: sum(item.place.kind is Kind.RECORD for item in mine) for name, mine in machines.items()}
    return Exported(records, file.stat().st_size, folder.left_out)


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


def import_bundle(path: Path, smoke: bool = False, name: str | None = None, told: Path = MACHINES) -> Outcome:
    """Add what a bundle or a folder has and is not here, under the machine's `name` if one is given.

    UserError, and nothing is written, if anything in a bundle is not right. A folder's files that are not are left out.
    """
    if name:
        check_name("machine", name, "--as")
    items, left_out = _read_folder(path, smoke) if os.path.isdir(path) else (_read_bundle(path, smoke), {})
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
        merges = {one: _merge(one, mine, smoke, path, described) for one, mine in machines.items()}
        for merge in merges.values():
            merge.carry_out(told)
    except OSError as error:
        where = error.filename or records_folder(smoke)
        raise UserError(f"{where}: {error.strerror}; when that is mended, give the same command again") from None
    finally:
        os.close(lock)
    return Outcome({one: merge.done for one, merge in merges.items()}, left_out)


def _read_folder(path: Path, smoke: bool) -> tuple[list[Item], dict[str, list[Path]]]:
    folder = _open_folder(path)
    items = folder.survey(smoke)
    if not items:
        reason, left_out = max(folder.left_out.items(), key=lambda one: len(one[1]))
        raise UserError(f"{path}: has nothing that can be used; {shown(str(left_out[0]))}: {reason}")
    return items, folder.left_out


def _read_bundle(path: Path, smoke: bool) -> list[Item]:
    def refuse(where: str, reason: str) -> None:
        raise UserError(f"{where}: {reason}")

    manifest, items = _unpack(path, refuse)
    if manifest["smoke"] != smoke:
        kind, how = ("smoke", "with") if manifest["smoke"] else ("real", "without")
        raise UserError(f"{path}: is of {kind} records; import it {how} --smoke")
    return items


@dataclass
class _Merge:
    """What is to be written of one machine, by its place, in order: what of it is here already, is not in it."""

    path: Path
    records: Path
    theirs: list[Item]
    ours: list[Item]
    done: Imported = field(default_factory=Imported)
    steps: dict[Place, Item] = field(default_factory=dict)

    def add_numbered(self) -> None:
        """The rounds and sessions that are not here, each under its own number where that is free, or else under the
        next one, the earlier first."""
        known = {(item.place.folders, item.content) for item in self.ours}
        taken = list[Item]()
        for item in sorted(self.theirs, key=lambda item: (item.started, item.place)):
            if item.place.number is None:
                continue
            if (key := (item.place.folders, item.content)) in known:
                self.done.known[item.place.kind] += 1
            elif self.is_free(item.place):
                self.steps[item.place] = item
            else:
                taken.append(item)
            known.add(key)
        for item in taken:
            place = next(filter(self.is_free, map(item.place.numbered, range(1, HIGHEST_NUMBER + 1))), None)
            if place is None:
                what = item.place.numbered(HIGHEST_NUMBER + 1).path
                raise UserError(f"{self.path}: {what}: there would be more than {HIGHEST_NUMBER} of these")
            self.steps[place] = item

    def add_single(self, item: Item) -> None:
        """What a machine has one of: the newer stays."""
        place, done = item.place, self.done
        here = next((one for one in self.ours if one.place == place), None)
        what = " ".join([*place.folders, place.kind])
        if place.kind is Kind.TOLD or self.is_free(place):
            self.steps[place] = item
        elif here is None:
            done.lines.append(f"its {what} here cannot be used, and stays: delete it and import again")
        elif here.content == item.content:
            done.known[place.kind] += 1
        elif _moment(item, self.theirs) > _moment(here, self.ours):
            self.steps[place] = item
            done.lines.append(f"its {what} here was older, and is replaced")
        else:
            done.lines.append(f"its {what} here is as new, and stays")

    def is_free(self, place: Place) -> bool:
        return place not in self.steps and not place.under(self.records).exists()

    def carry_out(self, told: Path) -> None:
        """Write the files, each whole."""
        for place, item in self.steps.items():
            if place.kind is Kind.TOLD:
                self.done.lines += filter(None, [_keep_price(place.machine, item.value, told)])
            else:
                write_text(place.under(self.records), _text_at(place, item.value))
                self.done.new[place.kind] += 1


def _merge(machine: str, theirs: list[Item], smoke: bool, path: Path, described: Mapping[str, Any]) -> _Merge:
    """What becomes of a machine's items; UserError if they are of another machine than those here."""
    here = _open_machines(records_folder(smoke), machine)
    ours = here.survey(smoke)
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
    merge = _Merge(path, records_folder(smoke), theirs, ours)
    for item in theirs:
        if item.place.number is None:
            merge.add_single(item)
    merge.add_numbered()
    if other := name_of(meant, machine, described):
        merge.done.lines.append(
            f"it is the machine that has records here as {other}: two names of one machine are two rows"
        )
    merge.done.lines += _apart_lines(list(merge.steps.values()), ours)
    return merge


def _moment(item: Item, beside: list[Item]) -> str:
    """When it was made; of what has no date, when the last record beside it was."""
    return item.started or max((one.started for one in beside), default="")


def _apart_lines(new: list[Item], ours: list[Item]) -> list[str]:
    """A line for each thing in which new records of a cell differ, by their digest and library, from the last one that
    is here, or else from the last of the new ones: as the estimators do, such never pool."""
    last, found = dict[Any, dict[str, Any]](), Counter[str]()
    for item in [*_latest_first(ours), *_latest_first(new)]:
        cell = item.place.folders, item.place.is_whole
        if cell not in last:
            last[cell] = item.value
    for item in _latest_first(new):
        one, other = item.value, last[item.place.folders, item.place.is_whole]
        if not _pool(one, other):
            found[_why_apart(one, other)] += 1
    return [
        f"{number} records are of another measurement ({reason}) and never pool: tables show the last of each cell"
        for reason, number in found.most_common()
    ]


def _latest_first(items: list[Item]) -> list[Item]:
    """The records."""
    records = (item for item in items if item.place.kind is Kind.RECORD)
    return sorted(records, key=lambda item: item.started, reverse=True)


def _pool(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two records have the same digest and library, which a process that never started cannot tell."""
    packages = {_package(one), _package(other)} - {""}
    return one["digest"] == other["digest"] and len(packages) < 2


def _package(record: Mapping[str, Any]) -> str:
    return str(record["provenance"].get("backend", {}).get("package", ""))


# Of a profile, what is said of it already, or decides no measurement (schedule/spec.py).
_WORDS = {"precision", "label", "package", "architecture", "optional", "price_per_hour"}


def _why_apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The first thing in which two records of a cell differ, such as "seed 7, not 2009"."""
    there, here = _decisive(one), _decisive(other)
    name = next((name for name, value in there.items() if name in here and here[name] != value), None)
    return f"{name} {there[name]}, not {here[name]}" if name else "other cases in the table"


def _decisive(record: Mapping[str, Any]) -> dict[str, Any]:
    """What decides a measurement, by names that people know; the most telling first."""
    profile, package = record["profile"], _package(record)
    return (
        {"precision": profile["precision"]}
        | {f"profile.{key}": profile[key] for key in sorted(profile.keys() - _WORDS)}
        | {"threads": record["threads"], "seed": record["seed"]}
        | {f"timing.{key}": value for key, value in sorted(record["timing"].items())}
        | {
            f"{case['case']} {case['workload']} {key}": value
            for case in record["cases"]
            for key, value in sorted(case["parameters"].items())
        }
        | ({"library": package} if package else {})
    )


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
        # As deep as results/smoke/records/<machine>/<paper>/<experiment>/<profile>.
        for file in _files_beneath(path, _DEEPEST + 3, through_links=True):
            if file.suffix == ".json":
                _verify_file(file, found)
    elif path.suffix == ".json" or not path.exists():
        _verify_file(path, found)
    else:
        _verify_bundle(path, found)
    if not found.files:
        raise UserError(f"{path}: has no records; give results/records, a folder or a file in it, or a bundle")
    return found


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
    manifest, items = _unpack(path, lambda where, reason: found.wrong.append(f"{where}: {reason}"))
    for item in items:
        found.unchecked[item.place.machine] += item.place.kind is not Kind.TOLD and not is_checked(item.value)
    found.files.update(member["path"].split("/")[1] for member in manifest["members"])
