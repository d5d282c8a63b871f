"""What the files of a machine say, as frozen pydantic models: whatever tables, figures and the report take for granted.

Every file is read by `parse`, one of ours or one that somebody sent. Keys that no model names may be there. Facts only;
every statistic is derived later. Whose a file is, its path alone tells.
"""

import functools
import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import PurePath
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, FailFast, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from respeed.errors import UserError
from respeed.paths import NAME, check_name
from respeed.text import clip, printable

# The version of what is written. A file of another one cannot be used.
SCHEMA = 4
# What stands for paper and experiment in the rounds of a hardware sheet.
PAPER = "hardware"
HIGHEST_NUMBER = 999
_ROUND = re.compile(r"round-(?!00\.)([0-9]{2}|[1-9][0-9]{2})\.json")


class Kind(StrEnum):
    """What a file is; the text is what people read."""

    RECORD = "record"
    DESCRIPTION = "description"
    SHEET = "hardware sheet"


# The most bytes of a file: the largest seen have 0.02 MB (a record) and 0.3 MB (a hardware sheet of two cores).
MOST_BYTES = {Kind.RECORD: 2 * 2**20, Kind.DESCRIPTION: 2**20, Kind.SHEET: 8 * 2**20}


def kind_of(path: PurePath) -> Kind | None:
    """Return the kind of a file by its path within a folder of records; None if no machine has such a file."""
    *folders, name = path.parts
    if not all(map(NAME.fullmatch, folders)):
        return None
    if len(folders) == 4:
        return Kind.RECORD if _ROUND.fullmatch(name) else None
    single = {"machine.json": Kind.DESCRIPTION, "hardware.json": Kind.SHEET}
    return single.get(name) if len(folders) == 1 else None


def number_of(name: str) -> int:
    """Return the number of a round by the name of its file."""
    found = _ROUND.fullmatch(name)
    assert found, name
    return int(found[1])


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
Name = Annotated[str, AfterValidator(_name)]
Schema = Annotated[int, Field(ge=SCHEMA, le=SCHEMA)]
Reason = Annotated[str, Field(pattern=r"\S")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
# In UTC, of this millennium and to the second, because moments are compared as text.
Moment = Annotated[
    str, Field(pattern=r"^2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00$"), AfterValidator(_moment)
]
Seconds = Annotated[float, Field(ge=0, le=1e8)]  # three years
Sample = Annotated[float, Field(ge=LEAST_SECONDS, le=1e8)]
Positive = Annotated[float, Field(ge=1e-12, le=1e24)]
# Operations or bytes, of a step or in a second.
Work = Annotated[float, Field(ge=0, le=1e24), AfterValidator(_work)]
Count = Annotated[int, Field(ge=0, le=2**53)]
Whole = Annotated[int, Field(ge=1, le=2**53)]
Joules = dict[str, Annotated[float, Field(ge=0, le=1e12)]]
ToldOfDevice = Literal["sm_mhz", "highest_sm_mhz", "watts", "celsius", "reasons"]
Told = Annotated[float, Field(ge=0, le=1e6)]
Samples = Annotated[list[Sample], Field(min_length=1), FailFast()]


class Facts(BaseModel):
    """Anything that a file says."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)


def _odd(line: str) -> PydanticCustomError:
    """Return the error of facts that do not fit one another, where each alone would do."""
    return PydanticCustomError("odd", "{line}", {"line": line})


class Block(Facts):
    """Successive samples and what happened meanwhile (respeed.protocol).

    What may disturb a block is told by these alone: one that an unknown fact speaks against must not count as clean.
    """

    model_config = ConfigDict(extra="forbid")
    sample_steps: Whole
    sample_seconds: Samples
    probe_seconds: Annotated[list[Sample], Field(min_length=2), FailFast()]
    run_delay_seconds: Seconds | None
    threads_ran: Count | None
    minor_faults: Count
    quota_throttles: Count | None
    clock_throttles: Count | None
    part_seconds: list[Annotated[list[Seconds], FailFast()]]
    joules: Joules
    # Only where a device tells it.
    device: Annotated[list[dict[ToldOfDevice, Told]], Field(default_factory=list, max_length=2)]


class Warmup(Facts):
    """How the steps before the first block went."""

    settled: bool
    step_seconds: Positive


class Case(Facts):
    """A case of a round: blocks of times, or a reason why there are none."""

    case: Name
    workload: Name
    parameters: dict[str, Any]
    flops: Work | None
    traffic_bytes: Work | None
    parts: dict[str, Annotated[float, Field(ge=0, le=1e24)]]  # how often each counts in a step
    status: Literal["measured", "not-run", "failed", "wrong"]
    reason: str | None
    errors: dict[str, Annotated[float, Field(ge=0)] | None]
    warmup: Warmup | None
    blocks: list[Block]
    wall_seconds: Seconds
    attempts: Whole = 1
    graphs: str | None = None
    # Of an example, in each part of a step that goes on until examples are done.
    iterations: dict[str, Annotated[float, Field(ge=1, le=1e9)]] | None = None
    # Of a program: the files that its command names, by the words for them.
    executables: dict[str, Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]] | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        weights = list(self.parts.values())
        is_whole = all(_has_parts(block, weights) for block in self.blocks) and self._has_times_or_reason()
        if not is_whole or not (self.iterations or {}).keys() <= self.parts.keys():
            raise _odd(f"the case {self.case} is not whole")
        return self

    def _has_times_or_reason(self) -> bool:
        if self.status != "measured":
            return bool((self.reason or "").strip())
        domains = {tuple(block.joules) for block in self.blocks if block.joules}
        # A product is a measure of the machine as well: by its operations.
        is_counted = bool(self.flops) or self.workload != "matmul"
        return bool(self.blocks) and self.warmup is not None and is_counted and len(domains) < 2


def _has_parts(block: Block, weights: list[float]) -> bool:
    """Return whether a block has as many samples of every part as of the whole step, and none takes no time."""
    parts = block.part_seconds
    if len(parts) != len(weights) or any(len(part) != len(block.sample_seconds) for part in parts):
        return False
    samples = zip(*parts, strict=True)
    return all(
        sum(weight * seconds for weight, seconds in zip(weights, sample, strict=True)) >= LEAST_SECONDS
        for sample in samples
    )


class Machine(Facts):
    """What a machine is; some of these tell it from others (respeed.machine.fingerprint)."""

    cpu: str
    usable_cores: Whole
    cpu_flags: list[str]
    memory_bytes: Whole
    accelerators: list[str]
    architecture: str
    system: str
    blas: str
    # What not every system tells. A machine that stands for several nodes alike has no mark of its host.
    physical_cores: Whole | None
    logical_cpus: Whole | None
    cpu_quota: Annotated[float, Field(ge=0, le=1e6)] | None
    frequency_governor: str | None
    accelerator_driver: str | None
    host: str | None = None
    core_cpus: list[list[Count]] | None


class Energy(Facts):
    """What counts joules, or why nothing does."""

    reason: str | None


class Accelerator(Facts):
    """What the driver said of a row's device as its process began: these, and more that is only shown."""

    name: str | None = None
    driver: str | None = None
    power_limit_watts: Told | None = None
    default_power_limit_watts: Told | None = None


class Backend(Facts):
    """The library that computed: these, and more that is only shown."""

    package: str
    library: str


class ThreadsProof(Facts):
    """How many threads ran as the process began."""

    threads_ran: Count | None


class Library(Facts):
    """A library of linear algebra that was loaded, as threadpoolctl tells of it."""

    internal_api: str | None = None
    version: str | None = None
    architecture: str | None = None


class Provenance(Facts):
    """What a measuring process found; one that never started has told nothing."""

    backend: Backend | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    libraries: list[Library] = Field(default_factory=list)
    environment: dict[str, str] = Field(default_factory=dict)
    energy: Energy = Energy(reason=None)
    accelerator: Accelerator | None = None
    threads_proof: ThreadsProof | None = None


class RecordProvenance(Provenance):
    """Where a round comes from: without these, its numbers cannot be read (Hoefler and Belli, SC 2015, rule 9)."""

    machine: Machine
    commit: Reason


class RunBy(Facts):
    """What computes."""

    name: Name
    package: str
    backend: Name
    device: str
    precision: str


class Profile(RunBy):
    """A row of the tables."""

    label: str
    architecture: Literal["single-cpu", "multi-cpu", "gpu", "tpu"]
    threads: Whole | Literal["all"]


class Round(Facts):
    """What one process measured on one profile."""

    smoke: bool
    profile: Profile
    threads: Whole
    seed: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
    timing: dict[str, float]
    digest: Digest
    started: Moment
    wall_seconds: Seconds
    start_seconds: Seconds
    provenance: Provenance
    ceilings: dict[str, Work] | None
    cases: Annotated[list[Case], Field(min_length=1)]

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if len({(case.case, case.workload) for case in self.cases}) < len(self.cases):
            raise _odd("a case stands there twice")
        if self.provenance.backend is None and any(case.status == "measured" for case in self.cases):
            raise _odd("provenance.backend is missing, and a case was measured")
        return self


class Record(Round):
    """A round of a paper's experiment."""

    schema_: Schema = Field(alias="schema")
    provenance: RecordProvenance


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
    """What a machine is, and what it can run."""

    schema_: Schema = Field(alias="schema")
    hardware: Machine
    not_measurable: dict[str, Reason]
    profiles: dict[str, Asked]


class SheetProvenance(Facts):
    """Where a hardware sheet comes from."""

    machine: Machine


class Memory(Facts):
    """The bytes of each cache and each accelerator."""

    caches: dict[str, Whole]
    accelerators: dict[str, Whole]


class AbsentCase(Facts):
    """A case that a machine cannot run."""

    name: str
    workload: Name
    parameters: dict[str, Any]


class Absent(Facts):
    """What a machine cannot run, and why."""

    profile: RunBy
    threads: Whole
    cases: list[AbsentCase]
    reason: Reason


class SheetRound(Round):
    """A round of a hardware sheet; `index` is the pass that it belongs to."""

    index: Annotated[int, Field(ge=1, le=HIGHEST_NUMBER)]


class Sheet(Facts):
    """A hardware sheet: what the machine reaches."""

    schema_: Schema = Field(alias="schema")
    smoke: bool
    digest: Digest
    started: Moment
    wall_seconds: Seconds
    provenance: SheetProvenance
    memory: Memory
    rounds: list[SheetRound]
    absent: list[Absent]

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        for device, name, workload, parameters in self._gauged():
            if not _can_be_gauged(device, name, workload, parameters):
                raise _odd(f"the case {name} is not whole")
        return self

    def _gauged(self) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
        for one in self.rounds:
            yield from ((one.profile.device, case.case, case.workload, case.parameters) for case in one.cases)
        for absent in self.absent:
            yield from ((absent.profile.device, case.name, case.workload, case.parameters) for case in absent.cases)


def _can_be_gauged(device: str, name: str, workload: str, parameters: Mapping[str, Any]) -> bool:
    """Return whether a table knows what the case measures, by its name and its parameters."""

    def is_whole(key: str) -> bool:
        value = parameters.get(key)
        return type(value) is int and 1 <= value <= 2**53

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


MODELS: dict[Kind, type[Facts]] = {Kind.RECORD: Record, Kind.DESCRIPTION: Description, Kind.SHEET: Sheet}


# --- reading what a file says

# Real files are 7 deep, and have 20,000 values.
_MAX_DEPTH, _MAX_VALUES = 16, 500_000
# No label, name of a device or reason is meant to be longer.
MOST_LETTERS = 500


def parse(kind: Kind, data: bytes, where: str) -> dict[str, Any]:
    """Return what a file of this kind says.

    Raises UserError, one line that begins with `where`, if that is not what the kind's model takes: which key, and why.
    """
    # Counted before it is built: ten million empty lists fit into few bytes of a zip file.
    if sum(data.count(mark) for mark in (b",", b"[", b"{")) > _MAX_VALUES:
        raise UserError(f"{where}: has more than {_MAX_VALUES} values, which no {kind} has")
    try:
        value = json.loads(data.decode("utf-8"))
        _check_plain(value, 0)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: is damaged ({error})") from None
    schema = value.get("schema") if isinstance(value, dict) else None
    if schema != SCHEMA:
        raise UserError(f"{where}: has {kind} schema {schema!r}, this version of respeed reads {SCHEMA}")
    try:
        MODELS[kind].model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise UserError(f"{where}: {f'{clip(place, 200)}: ' if place else ''}{first['msg']}") from None
    return dict(value)


def _check_plain(value: Any, depth: int) -> None:
    """Raise ValueError for a value that no file has: nested too deeply, NaN, infinity, or a text not to be shown."""
    if isinstance(value, str):
        if plain_text(value) != value:
            raise ValueError("a text is too long, or holds what cannot be printed")
    elif isinstance(value, int | float):
        if not abs(value) <= 2**63 if isinstance(value, int) else not math.isfinite(value):
            raise ValueError("a number is too large, or none")
    elif isinstance(value, list | dict):
        if depth >= _MAX_DEPTH:
            raise ValueError("nested too deeply")
        for one in [*value, *value.values()] if isinstance(value, dict) else value:
            _check_plain(one, depth + 1)


# The same keys and names stand in every record.
@functools.lru_cache(maxsize=4096)
def plain_text(text: str) -> str:
    """Return the text as a file has it: on one line, without what cannot be printed, no longer than any need be."""
    return clip(printable(text), MOST_LETTERS)


def plain_texts(data: Any) -> Any:
    """Return the same data with all texts as files have them: libraries and systems may say anything."""
    if isinstance(data, str):
        return plain_text(data)
    if isinstance(data, dict):
        return {plain_text(key): plain_texts(value) for key, value in data.items()}
    return [plain_texts(one) for one in data] if isinstance(data, list | tuple) else data
