"""What the files of a machine say, as frozen pydantic models: whatever tables, figures and the report take for granted.

Every file is checked by its model wherever it is read, one of ours or one that somebody sent: its checksum, the type
and range of each fact, and whether the facts fit one another. Keys that no model names may be there: later versions
write more facts. Facts only; every statistic is derived later.
"""

import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, FailFast, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from respeed.errors import UserError
from respeed.paths import NAME, check_name
from respeed.text import clip, printable

# Versions of what is written. A record of another one cannot be used.
SCHEMA, LEARNING_SCHEMA, SHEET_SCHEMA, SESSION_SCHEMA = 3, 1, 1, 1
ROOT = "records"
# What stands for paper and experiment in the rounds of a hardware sheet.
PAPER = "hardware"


class Kind(StrEnum):
    """What a file is; the text is what people read, of one and of several."""

    RECORD = "record"
    LEARNING = "learning record"
    DESCRIPTION = "description"
    SHEET = "hardware sheet"
    SESSION = "session"
    TOLD = "price"


# The files of a machine's folder, by the number of folders between it and them, and where their number stands.
_FILES = {
    Kind.RECORD: (3, re.compile(r"(?:round|whole)-(?!00\.)([0-9]{2}|[1-9][0-9]{2})\.json")),
    Kind.LEARNING: (2, re.compile(r"learning\.json")),
    Kind.DESCRIPTION: (0, re.compile(r"machine\.json")),
    Kind.SHEET: (0, re.compile(r"hardware\.json")),
    Kind.SESSION: (0, re.compile(r"session-(?!000)([0-9]{3})\.json")),
    Kind.TOLD: (0, re.compile(r"told\.yaml")),
}
HIGHEST_NUMBER = 999


@dataclass(frozen=True, order=True)
class Place:
    """Where a file lies, under results/records and in a bundle: `folders` are paper, experiment and profile, as far as
    it has them."""

    machine: str
    folders: tuple[str, ...]
    name: str
    kind: Kind

    @property
    def path(self) -> str:
        return "/".join((ROOT, self.machine, *self.folders, self.name))

    @property
    def number(self) -> int | None:
        """Of a round or a session; None of what there is one of."""
        found = re.search("[0-9]+", self.name)
        return int(found[0]) if found else None

    @property
    def is_whole(self) -> bool:
        return self.name.startswith("whole-")

    def under(self, records: Path) -> Path:
        """Where it is in a folder of machines."""
        return records.joinpath(self.machine, *self.folders, self.name)

    def numbered(self, number: int) -> "Place":
        """The same kind of file under another number."""
        digits = 2 if self.kind is Kind.RECORD else 3
        return replace(self, name=re.sub("[0-9]+", f"{number:0{digits}d}", self.name))


def place_of(path: str) -> Place | None:
    """The place that a path names; None if no machine has such a file, or a part of it is no name."""
    root, machine, *between, name = path.split("/") if path.count("/") > 1 else ("", "", "")
    if root != ROOT or not all(map(NAME.fullmatch, (machine, *between))):
        return None
    kinds = (kind for kind, (depth, file) in _FILES.items() if depth == len(between) and file.fullmatch(name))
    kind = next(kinds, None)
    return Place(machine, tuple(between), name, kind) if kind else None


def place_in_folders(path: PurePath) -> Place | None:
    """The same by the end of a path on disk: its file's name tells how many folders belong to it."""
    depths = (depth for depth, file in _FILES.values() if file.fullmatch(path.name))
    depth = next(depths, None)
    return None if depth is None else place_of("/".join((ROOT, *path.parts[-depth - 2 :])))


# --- facts


def _name(value: str) -> str:
    try:
        return check_name("", value, "")
    except UserError as error:
        raise ValueError(str(error)) from None


def _moment(value: str) -> str:
    datetime.fromisoformat(value)
    return value


def _work(value: float) -> float:
    if 0 < value < 1:
        raise ValueError("a part of an operation would lie at the end of no axis")
    return value


LEAST_SECONDS = 1e-12
# What may be missing: earlier versions did not ask for all facts, nor do all systems tell all.
_MAYBE: Any = None
Name = Annotated[str, AfterValidator(_name)]
Schema1 = Annotated[int, Field(ge=1, le=1)]
Schema3 = Annotated[int, Field(ge=3, le=3)]
Reason = Annotated[str, Field(pattern=r"\S")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
# In UTC, of this millennium and to the second, because moments are compared as text.
Moment = Annotated[
    str, Field(pattern=r"^2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00$"), AfterValidator(_moment)
]
# The CPUs of each core: "0,64 1,65".
Cores = Annotated[str, Field(pattern=r"^[0-9]{1,5}([, ][0-9]{1,5})*$")]
Seconds = Annotated[float, Field(ge=0, le=1e8)]  # three years
Sample = Annotated[float, Field(ge=LEAST_SECONDS, le=1e8)]
Positive = Annotated[float, Field(ge=1e-12, le=1e24)]
# Operations or bytes, of a step or in a second.
Work = Annotated[float, Field(ge=0, le=1e24), AfterValidator(_work)]
Count = Annotated[int, Field(ge=0, le=2**63)]
Whole = Annotated[int, Field(ge=1, le=2**63)]
Scalar = str | bool | int | float | None
Joules = dict[str, Annotated[float, Field(ge=0, le=1e12)]]
ToldOfDevice = Literal["sm_mhz", "highest_sm_mhz", "watts", "celsius", "reasons"]
Told = Annotated[float, Field(ge=0, le=1e6)]
Samples = Annotated[list[Sample], Field(min_length=1), FailFast()]


class Facts(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)


def _odd(line: str) -> PydanticCustomError:
    """Facts that do not fit one another, where each alone would do."""
    return PydanticCustomError("odd", "{line}", {"line": line})


class Block(Facts):
    """Successive samples and what happened meanwhile (respeed.protocol). What may disturb a block is told by these
    alone: one that an unknown fact speaks against must not count as clean."""

    model_config = ConfigDict(extra="forbid")
    sample_steps: Whole
    sample_seconds: Samples
    probe_seconds: Annotated[list[Sample], Field(min_length=2), FailFast()]
    run_delay_seconds: Seconds | None
    threads_ran: Count | None
    minor_faults: Count
    quota_throttles: Count | None
    clock_throttles: Count | None
    part_seconds: list[Annotated[list[Seconds], FailFast()]] = _MAYBE
    joules: Joules = _MAYBE
    slept_seconds: Seconds | None = None
    device: Annotated[list[dict[ToldOfDevice, Told]], Field(max_length=2)] = _MAYBE


class Warmup(Facts):
    settled: bool
    step_seconds: Positive


class EnergyRun(Facts):
    steps: Whole
    seconds: Positive
    joules: Joules


class Case(Facts):
    """A case of a round: blocks of times, or a reason why there are none."""

    case: Name
    workload: Name
    parameters: dict[str, Any]
    flops: Work | None
    traffic_bytes: Work | None
    parts: dict[str, Annotated[float, Field(ge=0, le=1e24)]] = _MAYBE  # how often each counts in a step
    status: Literal["measured", "not-run", "failed", "wrong"]
    reason: str | None
    errors: dict[str, Annotated[float, Field(ge=0)] | None]
    warmup: Warmup | None
    blocks: list[Block]
    energy_run: EnergyRun = _MAYBE
    wall_seconds: Seconds
    attempts: Whole = _MAYBE
    graphs: str = _MAYBE
    # Of an example, in each part of a step that goes on until examples are done.
    iterations: dict[str, Annotated[float, Field(ge=1, le=1e9)]] = _MAYBE
    # Of a program: the files that its command names, by the words for them.
    executables: Annotated[dict[str, Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]], Field(max_length=100)] = _MAYBE

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        weights = list((self.parts or {}).values())
        is_whole = all(_has_parts(block, weights) for block in self.blocks) and self._has_times_or_reason()
        if not is_whole or not (self.iterations or {}).keys() <= (self.parts or {}).keys():
            raise _odd(f"the case {shown(self.case)} is not whole")
        return self

    def _has_times_or_reason(self) -> bool:
        if self.status != "measured":
            return bool((self.reason or "").strip())
        domains = {tuple(block.joules) for block in self.blocks if block.joules}
        # A product is a measure of the machine as well: by its operations.
        is_counted = bool(self.flops) or self.workload != "matmul"
        return bool(self.blocks) and self.warmup is not None and is_counted and len(domains) < 2


def _has_parts(block: Block, weights: list[float]) -> bool:
    """Whether a block has as many samples of every part as of the whole step, and none takes no time."""
    parts = block.part_seconds or []
    if len(parts) != len(weights) or any(len(part) != len(block.sample_seconds) for part in parts):
        return False
    samples = zip(*parts, strict=True)
    return all(
        sum(weight * seconds for weight, seconds in zip(weights, sample, strict=True)) >= LEAST_SECONDS
        for sample in samples
    )


class CoresOfKind(Facts):
    socket: Count | None
    kind: str | None
    cores: Cores


class Machine(Facts):
    """What a machine is; its fingerprint (respeed.records.fingerprint) is of some of these."""

    cpu: str = _MAYBE
    usable_cores: Whole = _MAYBE
    cpu_flags: list[str] = _MAYBE
    memory_bytes: Whole = _MAYBE
    accelerators: list[str] = _MAYBE
    sockets: Whole | None = None
    physical_cores: Whole | None = None
    host: str | None = None
    accelerator_driver: str | None = None
    logical_cpus: Whole | None = None
    cpu_quota: Annotated[float, Field(ge=0, le=1e6)] | None = None
    frequency_governor: str | None = None
    architecture: str = _MAYBE
    system: str = _MAYBE
    cores: list[CoresOfKind] | None = None
    core_kinds: dict[str, Count] = _MAYBE
    devices: dict[str, Count | None] = _MAYBE
    blas: str = _MAYBE


class Energy(Facts):
    """What counts joules, or why nothing does."""

    reason: str | None
    update_seconds: dict[str, Positive]

    @model_validator(mode="after")
    def _tells(self) -> Self:
        if not self.update_seconds and not (self.reason or "").strip():
            raise ValueError("neither counters nor a reason")
        return self


class Accelerator(Facts):
    """What NVML said of a row's device as its process began, and why not of the rest."""

    model_config = ConfigDict(extra="forbid")
    name: str = _MAYBE
    driver: str = _MAYBE
    driver_cuda: str = _MAYBE
    capability: str = _MAYBE
    memory_bytes: Count = _MAYBE
    power_limit_watts: Told = _MAYBE
    default_power_limit_watts: Told = _MAYBE
    clock_mhz: Told = _MAYBE
    highest_clock_mhz: Told = _MAYBE
    memory_clock_mhz: Told = _MAYBE
    highest_memory_clock_mhz: Told = _MAYBE
    temperature_celsius: Told = _MAYBE
    ecc: bool = _MAYBE
    compute_mode: str = _MAYBE
    mig: bool = _MAYBE
    processes: Told = _MAYBE
    untold: Annotated[dict[str, Reason], Field(max_length=32)] = _MAYBE


class Provenance(Facts):
    """Where a round comes from. A process that never started has told neither its machine nor its library."""

    machine: Machine | None = None
    backend: dict[str, Scalar] = _MAYBE
    versions: dict[str, str] = _MAYBE
    libraries: list[dict[str, Scalar]] = _MAYBE
    environment: dict[str, str] = _MAYBE
    energy: Energy = _MAYBE
    accelerator: Accelerator = _MAYBE
    # Of `versions`, those that are not from the lock but of the Python that the user had.
    own_python: Annotated[list[Name], Field(max_length=16)] = _MAYBE


class CommittedProvenance(Provenance):
    commit: str


class Id(Facts):
    machine: Name
    paper: Name
    experiment: Name
    profile: Name
    index: Annotated[int, Field(ge=1, le=HIGHEST_NUMBER)]
    smoke: bool
    whole: bool


class RunBy(Facts):
    name: Name
    package: str
    backend: Name
    device: str
    precision: str


class Profile(RunBy):
    label: str
    architecture: Literal["single-cpu", "multi-cpu", "gpu", "tpu"]
    threads: Whole | Literal["all"]


class Clock(Facts):
    boot: str
    seconds: Seconds


class Round(Facts):
    """One process that measured some cases on one profile."""

    schema_: Schema3 = Field(alias="schema")
    id: Id
    profile: Profile
    threads: Whole
    seed: Annotated[int, Field(ge=-(2**63), le=2**63)]
    timing: dict[str, float]
    digest: Digest
    started: Moment
    wall_seconds: Seconds
    start_seconds: Seconds
    clock: Clock | None = None
    provenance: Provenance
    ceilings: dict[str, Work] | None
    cases: Annotated[list[Case], Field(min_length=1)]

    @model_validator(mode="after")
    def _once(self) -> Self:
        seen: set[tuple[str, str]] = set()
        for case in self.cases:
            if (key := (case.case, case.workload)) in seen:
                raise _odd(f"the case {shown(case.case)} stands there twice")
            seen.add(key)
        return self


class Record(Round):
    provenance: CommittedProvenance


# Of a picture, and pictures of a program: as many as a page has room for.
Row = Annotated[list[Annotated[int, Field(ge=0, le=255)]], Field(min_length=1, max_length=128), FailFast()]
Picture = Annotated[list[Row], Field(min_length=1, max_length=128), FailFast()]
Point = Annotated[list[Positive], Field(min_length=2, max_length=2)]


class Program(Facts):
    """What one program learned: points of seconds and what is left to explain, and grey pictures."""

    workload: Name
    parameters: dict[str, Scalar]
    steps: Count
    curve: Annotated[list[Point], Field(min_length=1, max_length=1000), FailFast()]
    pictures: Annotated[list[Picture], Field(min_length=1, max_length=64), FailFast()]

    @model_validator(mode="after")
    def _alike(self) -> Self:
        if len({(len(picture), len(row)) for picture in self.pictures for row in picture}) != 1:
            raise _odd("the pictures of a program are of several sizes")
        return self


class AbsentProgram(Facts):
    """A program that cannot learn there, and why."""

    workload: Name
    parameters: dict[str, Scalar]
    reason: Reason


class Learning(Facts):
    schema_: Schema1 = Field(alias="schema")
    machine: Name
    paper: Name
    experiment: Name
    smoke: bool
    started: Moment
    programs: Annotated[list[Program], Field(max_length=16), FailFast()]
    absent: Annotated[list[AbsentProgram], Field(max_length=16), FailFast()] = _MAYBE

    @model_validator(mode="after")
    def _tells(self) -> Self:
        if not self.programs and not self.absent:
            raise _odd("no program learned anything, and nothing says why")
        return self


class Asked(Facts):
    """What a profile came to on a machine: threads, or a reason why it cannot run."""

    asked: Digest
    threads: Whole | None = None
    reason: Reason | None = None

    @model_validator(mode="after")
    def _tells(self) -> Self:
        if self.threads is None and self.reason is None:
            raise ValueError("neither threads nor a reason")
        return self


class Description(Facts):
    machine: Name = _MAYBE
    hardware: Machine
    not_measurable: dict[str, Reason] = _MAYBE
    profiles: dict[str, Asked] = _MAYBE
    started: Moment = _MAYBE


class SheetMachine(Machine):
    cpu: str
    memory_bytes: Whole
    accelerators: list[str]


class SheetProvenance(Facts):
    machine: SheetMachine


class Memory(Facts):
    caches: dict[str, Whole]
    accelerators: dict[str, Whole]


class AbsentCase(Facts):
    name: str
    workload: Name
    parameters: dict[str, Any]


class Absent(Facts):
    """What a machine cannot run, and why."""

    profile: RunBy
    threads: Whole
    cases: list[AbsentCase]
    reason: Reason


class Sheet(Facts):
    """A hardware sheet: what the machine reaches. Its rounds are records as those of papers are."""

    schema_: Schema1 = Field(alias="schema")
    machine: Name
    smoke: bool
    digest: Digest
    started: Moment
    wall_seconds: Seconds
    provenance: SheetProvenance
    memory: Memory
    rounds: list[Round]
    absent: list[Absent]

    @model_validator(mode="after")
    def _is_one_machines(self) -> Self:
        for one in (each.id for each in self.rounds):
            if (one.machine, one.smoke, one.whole) != (self.machine, self.smoke, False):
                raise _odd(f"its rounds are of the machine {one.machine}, or of another kind of run")
        for device, name, workload, parameters in self._gauged():
            if not _can_be_gauged(device, name, workload, parameters):
                raise _odd(f"the case {shown(name)} is not whole")
        return self

    def _gauged(self) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
        for one in self.rounds:
            yield from ((one.profile.device, case.case, case.workload, case.parameters) for case in one.cases)
        for absent in self.absent:
            yield from ((absent.profile.device, case.name, case.workload, case.parameters) for case in absent.cases)


def _can_be_gauged(device: str, name: str, workload: str, parameters: Mapping[str, Any]) -> bool:
    """Whether a table knows what the case measures: by its name and its parameters. Other workloads are in no table."""

    def is_whole(key: str) -> bool:
        value = parameters.get(key)
        return type(value) is int and 1 <= value <= 2**63

    match workload:
        case "rbm" | "cd1_products":
            return re.fullmatch("[0-9]{1,9}x[0-9]{1,9}", name) is not None
        case "memory_copy":
            return is_whole("length")
        case "copies":
            way, memory = parameters.get("direction"), parameters.get("memory")
            return is_whole("length") and way in ("to", "from") and memory in ("pinned", "pageable")
        case "small_step":
            ways = ("waited", "spread") if device == "cpu" else ("waited", "queued", "graph")
            return is_whole("count") and parameters.get("how") in ways
    return True


class Session(Facts):
    schema_: Schema1 = Field(alias="schema")
    machine: Name
    started: Moment


MODELS: dict[Kind, tuple[type[Facts], int | None]] = {
    Kind.RECORD: (Record, SCHEMA),
    Kind.LEARNING: (Learning, LEARNING_SCHEMA),
    Kind.DESCRIPTION: (Description, None),
    Kind.SHEET: (Sheet, SHEET_SCHEMA),
    Kind.SESSION: (Session, SESSION_SCHEMA),
}


# --- checks


def check_kind(kind: Kind, data: Any, where: str) -> dict[str, Any]:
    """What a file of this kind says, its texts made printable. UserError, which begins with `where`, if it is not what
    it should be: what is to be done about it, who reads the file knows."""
    model, schema = MODELS[kind]
    found = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(data, dict) or (schema and (isinstance(found, bool) or found != schema)):
        newer = "; update respeed" * (isinstance(found, int) and schema is not None and found > schema)
        told = f"has {kind} schema {found!r}, this version of respeed reads {schema}{newer}"
        raise UserError(f"{where}: {told if schema else f'is no {kind}'}")
    check_checksum(data, where)
    try:
        texts: dict[str, Any] = printable_texts(data)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from None
    # What is shown must be right as well: a reason of a character that has no picture is none.
    for one in [data] if texts == data else [data, texts]:
        if line := misfit(model, one, kind):
            raise UserError(f"{where}: {line}")
    return texts


def misfit(model: type[BaseModel], data: Any, kind: str) -> str | None:
    """The first thing that is not as the model has it, such as `cases.0.flops`, in words; None if all is."""
    try:
        model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "odd":
            return first["msg"]
        way, inner = list[str](), data
        for key in first["loc"]:
            try:
                inner = inner[key]
            except (LookupError, TypeError):  # a key that is missing, or the name of one of several types
                way += [str(key)] if first["type"] == "missing" else []
                break
            way.append(str(key))
        return f"{shown('.'.join(way) or 'all of it')} is missing, or not what a {kind} says there"
    return None


def why_misplaced(place: Place, data: Mapping[str, Any], smoke: bool) -> str | None:
    """Why a file that is right in itself does not belong where it lies, whatever its machine is called; None if it
    does."""
    told = made_of(place.kind, data)
    if told.get("smoke", smoke) != smoke:
        return f"is of the {'real' if smoke else 'smoke'} kind, and lies among the {'smoke' if smoke else 'real'} ones"
    says = [told[key] for key in ("paper", "experiment", "profile")[: len(place.folders)]]
    if place.kind is not Kind.RECORD:
        return None if says == [*place.folders] else f"was made for another place: {'/'.join(says)}"
    if [*says, told["index"], told["whole"]] != [*place.folders, place.number, place.is_whole]:
        number = f"{'whole' if told['whole'] else 'round'} {told['index']}"
        return f"was made for another place: {'/'.join(says)}, {number}"
    if data["profile"]["name"] != place.folders[-1]:
        return f"was made for another place: its profile is {data['profile']['name']}"
    return None


def check_place(place: Place, data: Mapping[str, Any], smoke: bool, where: str) -> None:
    """UserError, which begins with `where`, unless a file says that it belongs where it lies."""
    if reason := why_misplaced(place, data, smoke):
        raise UserError(f"{where}: {reason}")
    if (machine := made_of(place.kind, data).get("machine", place.machine)) != place.machine:
        raise UserError(f"{where}: is of the machine {machine}")


def made_of(kind: Kind, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where a file says of what it was made: machine, paper, experiment."""
    told: Mapping[str, Any] = data["id"] if kind is Kind.RECORD else data
    return told


def under_name(data: dict[str, Any], machine: str) -> dict[str, Any]:
    """What a file says, with this for the machine's name wherever it says one: in itself, its id, and the rounds of a
    hardware sheet, each with an id of its own."""
    said = data | ({"machine": machine} if "machine" in data else {})
    if isinstance(named := data.get("id"), dict) and "machine" in named:
        said["id"] = named | {"machine": machine}
    if isinstance(rounds := data.get("rounds"), list):
        said["rounds"] = [under_name(one, machine) if isinstance(one, dict) else one for one in rounds]
    return said


def made_on(record: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of the machine that a record was made on; older records tell fewer."""
    return record["provenance"].get("machine") or {}


# --- JSON, checksums and texts

CHECKSUM = "checksum"
# Real records are 7 deep.
MAX_DEPTH = 16
# No label, name of a device or reason is meant to be longer.
MOST_LETTERS = 500


def parse_json(text: str | bytes, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The value; ValueError if it is none as the standard has it: Python would read NaN and Infinity as well. `pairs`
    makes an object of its keys and values, where `dict` should not."""
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=pairs)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number of JSON")


def canonical(data: dict[str, Any]) -> str:
    """The one text for all JSON that says the same; ValueError if it says what no record can."""
    plain = _plain(data, MAX_DEPTH)
    try:
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise ValueError("holds NaN or infinity") from None


def _plain(value: Any, depth: int) -> Any:
    """The same with whole floats as whole numbers, which is how other programs write them."""
    kind = type(value)
    if kind is float:
        return int(value) if value.is_integer() else value
    if kind is not dict and kind is not list:
        return value
    if not depth:
        raise ValueError("is nested too deeply")
    if kind is dict:
        return {key: one if type(one) in _AS_IT_IS else _plain(one, depth - 1) for key, one in value.items()}
    return [one if type(one) in _AS_IT_IS else _plain(one, depth - 1) for one in value]


# Most values of a record: to call no function for each makes reading it faster.
_AS_IT_IS = frozenset({str, int, bool, type(None)})


def checksum_of(data: dict[str, Any]) -> str:
    """The SHA-256 of all that a file says but for its checksum: of the values, not of the bytes, so that line breaks,
    the order of keys, and 1 in place of 1.0 change nothing. It is no signature. ValueError if it says what no record
    can."""
    return hashlib.sha256(canonical(without_checksum(data)).encode()).hexdigest()


def without_checksum(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key != CHECKSUM}


def sealed(data: dict[str, Any]) -> dict[str, Any]:
    """What is to be written, with its checksum at the end; ValueError for numbers that JSON has not."""
    # As it will be read: JSON has no tuples, and its keys are texts.
    read = json.loads(json.dumps(without_checksum(data), allow_nan=False))
    return {**read, CHECKSUM: checksum_of(read)}


def is_checked(data: Any) -> bool:
    """Whether the file has a checksum at all. It has none if it was written before records had them, or if somebody
    took it away: nothing tells which."""
    return isinstance(data, dict) and CHECKSUM in data


def check_checksum(data: dict[str, Any], where: str) -> None:
    """UserError, which begins with `where`, if the checksum is not that of what the file says. One that has none is
    looked at for what would make it none of JSON's."""
    try:
        found = checksum_of(data)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from None
    if is_checked(data) and data[CHECKSUM] != found:
        raise UserError(f"{where}: its checksum does not hold: it was changed after it was written")


def resealed(before: Any, after: Any) -> Any:
    """What a file says under another name or number, with a new checksum where that of `before` held. Where it did not,
    the wrong one stays: a new name makes no edited record right."""
    if before == after or not is_checked(before) or not isinstance(after, dict):
        return after
    try:
        holds = before[CHECKSUM] == checksum_of(before)
    except ValueError:
        holds = False
    return sealed(after) if holds else after


def printable_texts(data: Any) -> Any:
    """The same with every text on one line, without what cannot be printed, and no longer than any is meant to be: who
    made a record wrote them, and everything shows them. ValueError if two keys become one, or one becomes empty."""
    if isinstance(data, str):
        return _printable(data)
    if isinstance(data, dict):
        texts = {_printable(key): printable_texts(one) if type(one) in _HOLD_TEXT else one for key, one in data.items()}
        if len(texts) < len(data) or ("" in texts and "" not in data):
            raise ValueError("keys are empty, or the same, but for what cannot be printed")
        return texts
    # Lists of thousands of numbers have no text.
    if isinstance(data, list) and not set(map(type, data)) <= {int, float}:
        return [printable_texts(one) for one in data]
    return data


_HOLD_TEXT = frozenset({str, list, dict})


# The same keys and names stand in every record.
@functools.lru_cache(maxsize=4096)
def _printable(text: str) -> str:
    return clip(printable(text), MOST_LETTERS)


def shown(path: str) -> str:
    """A path or name that somebody else chose, for a message: in one line, without what a terminal obeys, and not too
    long."""
    text = path if path.isascii() and path.isprintable() else ascii(path)
    return text if len(text) <= 200 else f"{text[:150]}..."
