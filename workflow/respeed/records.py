"""Records: each is a file of lines with the facts and results of one measuring process.

A record is ``results/records/<machine>/<profile>/<time>-<four letters>.jsonl``. Its first line is a `Start`, the facts
of the process. Every other line is a `Result`, appended as soon as its case is done, so that a killed process loses
only its current case; after these, a `Replay` for each case of a device whose step was profiled. The machine's name is
in the path alone. Lines hold facts; every statistic is derived later. ``machine.json`` beside the profiles'
folders has a `Description` of the machine. Keys that no model has are ignored.

Imported records lie apart, in ``results/imported/<machine>``, where ``imports.jsonl`` says from which files (`Import`).

Anybody may have written a record that was imported, so the models bound every value: numbers, lengths of texts, counts,
moments and digits.
"""

import contextlib
import functools
import json
import math
import operator
import os
import re
import secrets
import string
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, count
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, NonNegativeFloat, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from respeed.errors import UserError, cannot_write, tell, unknown
from respeed.inputs.reader import read_bounded, read_text
from respeed.model import LARGEST, Architecture, case_key, outside_program
from respeed.paths import NAME, imported_folder, records_folder, results_folder, write_text
from respeed.protocol import LEAST_SECONDS, Block, Count, Reading, Seconds, Warmup, Whole
from respeed.text import clip, counted, printable, squeeze

# The version of the format. A file of another version cannot be used.
SCHEMA = 6
DESCRIPTION = "machine.json"
IMPORTS = "imports.jsonl"
# The folder of a machine's records that do not count; no profile can have this name.
SET_ASIDE = "_set-aside"
# The path of a machine's file, relative to the folder of records: its description or a record.
_RECORD = r"2[0-9]{7}T[0-9]{6}Z-[a-z]{4}\.jsonl"
_FILE = re.compile(rf"{NAME.pattern}/({re.escape(DESCRIPTION)}|{NAME.pattern}/{_RECORD})")
# The largest files seen have 0.1 MB, and lines of 0.02 MB.
MOST_BYTES = 4 * 2**20
# Of the list of imports, which names every file.
MOST_BYTES_OF_IMPORTS = 2**28
MOST_LINES = 1_000
# All records of a few machines; each takes 60 kB of memory.
MOST_KEPT = 5_000
# No label, name of a device or reason is meant to be longer.
MOST_LETTERS = 500
# How the line of a replay begins.
_REPLAY = '{"replay":'
# Letters of a line. This bounds how many values there are, however deep they lie.
MOST_IN_LINE = 2**18

# --- the lines


def _one_line(text: str) -> str:
    """Return a text as it can be shown: with runs of spaces it could look like several lines."""
    return clip(squeeze(printable(text)), MOST_LETTERS)


def _work(value: float) -> float:
    if 0 < value < 1:
        raise ValueError("a part of an operation would lie at the end of no axis")
    return value


Line = Annotated[str, AfterValidator(_one_line)]
Name = Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
Reason = Annotated[Line, Field(pattern=r"\S")]
Commit = Annotated[str, Field(pattern=r"^([0-9a-f]{7,40}(\+changes)?|unknown)$")]
# A parameter of a case; only an outside program's, which is its entry in a paper's table, has parts.
Word = Annotated[str, Field(max_length=MOST_LETTERS)]
Parameter = bool | Annotated[int | float, Field(ge=-LARGEST, le=LARGEST)] | Word
Program = dict[Word, Parameter | list[Word] | dict[Word, list[Word]]]
Parameters = dict[Word, Parameter | Program]
# In UTC, in this millennium and to the second, because moments are compared as text.
Moment = Annotated[
    str,
    Field(pattern=r"^2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00$"),
    AfterValidator(lambda text: datetime.fromisoformat(text).isoformat()),
]
# Operations or bytes, in a step or in a second.
Work = Annotated[float, Field(ge=0, le=1e24), AfterValidator(_work)]
Rate = Annotated[Work, Field(gt=0)]


class Facts(BaseModel):
    """The base of all models of facts in a file."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", allow_inf_nan=False)


class _Version(Facts):
    """What every file begins with."""

    number: int | None = Field(default=None, alias="schema")


class Machine(Facts):
    """Facts of a machine's hardware and system, some of which identify it; a fact that is not reported is None."""

    cpu: Line
    usable_cores: Whole
    cpu_flags: list[Line]
    memory_bytes: Whole
    accelerators: Annotated[list[Line], Field(max_length=64)]
    architecture: Line
    system: Line
    blas: Line
    physical_cores: Whole | None
    logical_cpus: Whole | None
    cpu_quota: Reading | None
    frequency_governor: Line | None
    accelerator_driver: Line | None
    host: Annotated[str, Field(pattern="^[0-9a-f]{16}$")] | None = None
    core_cpus: list[list[Count]] | None


class Description(Facts):
    """The hardware of a machine, and the reason for each profile that the machine cannot run."""

    hardware: Machine
    not_measurable: dict[Line, Reason]


class Row(Facts):
    """A row of the tables as it ran: its hardware profile when the process began."""

    name: Name
    label: Line
    package: Line
    architecture: Architecture
    backend: Name
    device: Line
    precision: Line
    threads: Whole | Literal["all"]
    cpus: Line | list[Count] | None = None
    ladder: bool = False

    @property
    def is_cpu(self) -> bool:
        """Return whether the row runs on CPUs."""
        return self.device == "cpu"


class Backend(Facts):
    """The library that computed."""

    package: Line
    library: Line
    version: Line | None = None
    kernel: Line | None = None
    accelerator: Line | None = None
    multiprocessors: Count | None = None
    elementwise: Line | None = None


class Accelerator(Facts):
    """What the driver reported about a row's device when the process began."""

    name: Line | None = None
    driver: Line | None = None
    power_limit_watts: Reading | None = None
    default_power_limit_watts: Reading | None = None


class Library(Facts):
    """A loaded library of linear algebra, as threadpoolctl reports it."""

    internal_api: Line | None = None
    version: Line | None = None
    architecture: Line | None = None


class Start(Facts):
    """The first line: the facts of a process. If `backend` is None, the process ended before its first case."""

    smoke: bool
    profile: Row
    threads: Whole
    seed: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
    timing: dict[Line, float]
    started: Moment
    machine: Machine
    commit: Commit
    study: Commit | None = None  # of the study that it was measured in
    start_seconds: Seconds = 0.0
    backend: Backend | None = None
    accelerator: Accelerator | None = None
    versions: dict[Line, Line] = {}
    libraries: list[Library] = []
    environment: dict[Line, Line] = {}
    energy: dict[Line, Line | None] = {}  # the reason, if no counter of energy can be read
    ceilings: dict[Line, Rate] = {}


class Result(Facts):
    """The result of a case: blocks of times, or the reason why there are none.

    Attributes
    ----------
    workload, parameters
        The case's workload, by name, and parameters, such as sizes; together they make the case's `key`.
    number : int
        Which round of the case this was planned to be, from 1. The number and the seed decide the data.
    source : str
        A checksum of the workload's file and, if the case runs an outside program, of that program.
    """

    workload: Name
    parameters: Parameters
    number: Whole
    source: Line
    status: Literal["measured", "not-run", "failed", "wrong"]
    reason: Line | None = None
    flops: Work | None = None
    traffic_bytes: Work | None = None
    # How often each part counts in a step.
    parts: dict[Line, Annotated[float, Field(ge=0, le=1e24)]] = {}
    errors: dict[Line, NonNegativeFloat | None] = {}
    warmup: Warmup | None = None
    blocks: tuple[Block, ...] = ()
    wall_seconds: Seconds = 0.0
    # Whether all threads work on each operation together, as in the reference probe.
    together: bool = False
    graphs: Line | None = None
    # How a CPU took a step's items, such as patches, where both ways were tried.
    items: Line | None = None

    @property
    def key(self) -> str:
        """Return the key of the case."""
        return case_key(self.workload, self.parameters)

    @property
    def program(self) -> Mapping[str, Any]:
        """Return the outside program that the case runs (see `outside_program`)."""
        return outside_program(self.parameters)

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        is_known = bool(self.reason)
        if self.status == "measured":
            domains = {tuple(block.joules) for block in self.blocks if block.joules}
            is_known = bool(self.blocks) and self.warmup is not None and len(domains) < 2
            # A case of matmul also measures the machine's peak, for which its operations must be known.
            if self.workload == "matmul" and not self.flops:
                is_known = False
        if not is_known or not all(map(self._has_parts, self.blocks)):
            raise PydanticCustomError("odd", "the case is incomplete")
        return self

    def _has_parts(self, block: Block) -> bool:
        """Return whether each part has as many samples as the step, and each sample's parts take LEAST_SECONDS."""
        if [len(part) for part in block.part_seconds] != [len(block.sample_seconds)] * len(self.parts):
            return False
        samples = zip(*block.part_seconds, strict=True)
        return all(sum(map(operator.mul, self.parts.values(), sample)) >= LEAST_SECONDS for sample in samples)


class Kernel(Facts):
    """What a device ran, by its name: how often in a step, and for how many seconds in all."""

    name: Line
    count: Whole
    seconds: Seconds


class Replay(Facts):
    """One profiled step of a case on a device, run once the process has timed all its cases; or why there is none.

    Attributes
    ----------
    replay, parameters
        The case's workload, by name, and parameters.
    kernels : int
        Kernels, copies and fills of the step.
    seconds : float
        From the beginning of the first of them to the end of the last.
    busy_share : float
        The share of these seconds in which the device ran any of them.
    longest : list of Kernel
        Those that took longest, by name.
    inputs_bytes, weights_bytes, cache_bytes
        The bytes of all items that steps cycle through, of what steps learn, and of the device's last cache.
    """

    replay: Name
    parameters: Parameters
    reason: Line | None = None
    kernels: Count | None = None
    seconds: Seconds = 0.0
    busy_share: Annotated[float, Field(ge=0, le=1)] | None = None
    longest: Annotated[list[Kernel], Field(max_length=64)] = []
    inputs_bytes: Count | None = None
    weights_bytes: Count | None = None
    cache_bytes: Count | None = None
    wall_seconds: Seconds = 0.0

    @property
    def key(self) -> str:
        """Return the key of the case."""
        return case_key(self.replay, self.parameters)


class Import(Facts):
    """An import: the name of the file or folder, its SHA-256, when it was imported, and which files were new."""

    file: Line
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    imported: Moment
    files: list[Line]

    def __str__(self) -> str:
        """Return the import in words."""
        return f"{self.file}, imported {self.imported[:10]}, sha256 {self.sha256[:12]}"


@dataclass(frozen=True)
class Record:
    """The contents of one file: the facts of the process, and its result for each case.

    `path` is the file as it lies on this disk, such as results/records/…/….jsonl; `skipped` has the numbers, from 1, of
    the lines that have no result: those that cannot be used, and `replays`.
    """

    machine: str
    path: Path
    start: Start
    results: tuple[Result, ...]
    skipped: tuple[int, ...] = ()
    replays: tuple[Replay, ...] = ()

    @property
    def profile(self) -> str:
        """Return the name of the row's profile."""
        return self.start.profile.name

    @property
    def hardware(self) -> Machine:
        """Return the hardware of the machine when the process began."""
        return self.start.machine

    def places(self) -> dict[str, Result]:
        """Return each result by its file and line, such as results/records/…/….jsonl:2."""
        lines = (number for number in count(2) if number not in self.skipped)
        return {f"{self.path}:{line}": result for line, result in zip(lines, self.results, strict=False)}

    @property
    def began(self) -> float:
        """Return when the process was started, in seconds since 1970."""
        return datetime.fromisoformat(self.start.started).timestamp()

    @property
    def wall_seconds(self) -> float:
        """Return the seconds that the process took for its start, its cases, and the replays of their steps."""
        seconds = [line.wall_seconds for line in self.results]
        seconds += [line.wall_seconds for line in self.replays]
        return self.start.start_seconds + math.fsum(seconds)

    @functools.cached_property
    def probes(self) -> list[float]:
        """Return the times of all reference probes of the process."""
        seconds: list[float] = []
        for result in self.results:
            for block in result.blocks:
                seconds += block.probes
        return seconds

    @property
    def library(self) -> str:
        """Return the matrix products' library and version, and "triton" if Triton's kernels ran between the products.

        The text is empty if the process ended before its first case.
        """
        backend = self.start.backend
        if backend is None:
            return ""
        return f"{backend.package}, triton" if backend.elementwise == "triton" else backend.package


Records = Iterable[Record]


# --- writing


def new_record(machine: str, profile: str, smoke: bool, started: str) -> Path:
    """Return the path of a new record, for a process that began at the time `started` (ISO 8601)."""
    stamp = datetime.fromisoformat(started).strftime("%Y%m%dT%H%M%SZ")
    letters = "".join(secrets.SystemRandom().choices(string.ascii_lowercase, k=4))
    return records_folder(smoke) / machine / profile / f"{stamp}-{letters}.jsonl"


Model = TypeVar("Model", bound=Facts)


class OddLine(UserError):
    """Facts that could not be read again, such as 0.5 operations; the text says which facts and why."""


def append_line(path: Path, model: type[Model], line: Mapping[str, Any]) -> Model:
    """Append a line to a record, flush it to the disk, and return its facts as they will be read.

    Parameters
    ----------
    path : Path
        The record; its folders are created if need be.
    model : type
        `Start` for the first line, `Result` or `Replay` for every other one.
    line : mapping
        The facts of the line; the schema is added if it is missing.

    Raises
    ------
    OddLine
        The line could not be read again.
    UserError
        The system refuses to write the line. The record is then unchanged.
    """
    if model is Start:
        line = {"schema": SCHEMA, **line}
    text = _as_json(line)
    facts = _parse(model, text)
    size = path.stat().st_size if path.exists() else 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            # After a power cut the last line may lack its end.
            file.seek(max(0, size - 1))
            if file.read() not in (b"", b"\n"):
                file.write(b"\n")
            file.write(f"{text}\n".encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        with contextlib.suppress(OSError):  # it may not be there
            if size:
                os.truncate(path, size)
            else:
                path.unlink()
        raise cannot_write(path, error) from None
    return facts


def write_description(machine: str, smoke: bool, data: Mapping[str, Any]) -> None:
    """Write the description of a machine, if it differs from the one in the file."""
    path = records_folder(smoke) / machine / DESCRIPTION
    text = _as_json({"schema": SCHEMA, **data}, indent=1)
    if read_description(machine, smoke) != _parse(Description, text, str(path)):
        write_text(path, f"{text}\n")


def _as_json(data: Mapping[str, Any], indent: int | None = None) -> str:
    """Return data as JSON; half a letter, as of a file's name in another encoding, could not be read again."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, indent=indent)
    return text.encode(errors="replace").decode()


# --- reading


def _parse(model: type[Model], text: str, where: str = "") -> Model:
    """Return the facts in `text`; raise OddLine, which begins with `where`, if the text does not fit `model`.

    A text may have MOST_IN_LINE letters; that of an import, which names files, may have MOST_BYTES_OF_IMPORTS.
    """
    if len(text) > (MOST_BYTES_OF_IMPORTS if model is Import else MOST_IN_LINE):
        raise OddLine(": ".join(filter(None, (where, "is damaged (too long)"))))
    try:
        if model in (Start, Description) and (schema := _Version.model_validate_json(text).number) != SCHEMA:
            raise OddLine(f"{where}: has schema {schema!r}, this version of respeed reads {SCHEMA}")
        return model.model_validate_json(text)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        # Of a value that may be of several types, the errors of the others say nothing.
        first = next((odd for odd in errors if not odd["type"].endswith(("_type", "_parsing"))), errors[0])
    reason = first["msg"]
    if first["type"] == "json_invalid":
        reason = f"is damaged ({reason})"
    field = clip(".".join(map(str, first["loc"])), 200)
    raise OddLine(": ".join(filter(None, (where, field, reason))))


def is_file_of_machine(path: PurePath) -> bool:
    """Return whether a path, relative to a folder of records, is allowed for a machine's file."""
    return bool(_FILE.fullmatch(path.as_posix()))


def parse_file(
    machine: str, path: PurePath, data: bytes, smoke: bool | None, where: str
) -> tuple[Record | Description, list[str]]:
    """Return the contents of a machine's file, and a message for each line that cannot be used.

    Parameters
    ----------
    machine : str
        The machine's name.
    path : PurePath
        The file's path.
    data : bytes
        The file's bytes. If the process was killed, the last line may be cut off.
    smoke : bool or None
        Whether the file must be of tiny cases (True) or of real ones (False); None if both are allowed.
    where : str
        The beginning of messages about the file.

    Raises
    ------
    UserError
        The file cannot be used: it has too many lines; its first line is damaged or has no backend though a case was
        measured; or the profile or the kind (tiny or real cases) is another than the folder's.
    """
    text = data.decode("utf-8", errors="replace")
    if path.name == DESCRIPTION:
        return _parse(Description, text, where), []
    first, *lines = text.split("\n")
    lines = lines[:-1]  # empty, or cut off
    if len(lines) > MOST_LINES:
        raise UserError(f"{where}: has more than {MOST_LINES} lines")
    start = _parse(Start, first, f"{where}:1")
    if smoke not in (None, start.smoke) or start.profile.name != path.parent.name:
        kind = "smoke" if start.smoke else "real"
        raise UserError(f"{where}: is a {kind} record of the profile {start.profile.name}, and does not belong here")
    results = []
    replays = []
    skipped = {}
    without_result = []
    for number, line in enumerate(lines, 2):
        try:
            if line.startswith(_REPLAY):
                without_result.append(number)
                replays.append(_parse(Replay, line, f"{where}:{number}"))
            else:
                results.append(_parse(Result, line, f"{where}:{number}"))
        except UserError as error:
            skipped[number] = str(error)
    if start.backend is None and any(result.status == "measured" for result in results):
        raise UserError(f"{where}: backend is missing, and a case was measured")
    numbers = tuple({*skipped, *without_result})
    return Record(machine, Path(where), start, tuple(results), numbers, tuple(replays)), [*skipped.values()]


@functools.lru_cache(maxsize=MOST_KEPT)
def _read(path: Path, smoke: bool, *_written: int) -> Record | Description | None:
    """Return the contents of a machine's file, or None if it cannot be used; print once what is skipped, and why."""
    try:
        machine = path.relative_to(results_folder(smoke)).parts[1]
        contents, lines = parse_file(machine, path, read_bounded(path, MOST_BYTES), smoke, str(path))
    except UserError as error:
        contents = None
        lines = [str(error)]
    for line in lines:
        tell(f"skipped: {line}")
    return contents


def _read_or_skip(path: Path, smoke: bool) -> Record | Description | None:
    try:
        file = path.lstat()
    except OSError:  # it has just been moved
        return None
    return _read(path, smoke, file.st_ino, file.st_size, file.st_mtime_ns)


def is_imported(machine: str, smoke: bool) -> bool:
    """Return whether all records of the machine came from others."""
    return (imported_folder(smoke) / machine).is_dir() and not (records_folder(smoke) / machine).is_dir()


def read_imports(machine: str, smoke: bool) -> tuple[Import, ...]:
    """Return where a machine's records came from, as far as they were imported."""
    path = imported_folder(smoke) / machine / IMPORTS
    lines = read_text(path, MOST_BYTES_OF_IMPORTS).split("\n") if path.exists() else []
    imports = []
    for line in filter(None, lines):
        try:
            imports.append(_parse(Import, line, str(path)))
        except UserError as error:
            tell(f"skipped: {error}")
    return tuple(imports)


def files_of_machine(smoke: bool, machine: str, pattern: str = "**/*.json*") -> list[Path]:
    """Return a machine's files, or those that fit the pattern; those that were imported come last."""
    homes = (records_folder(smoke) / machine, imported_folder(smoke) / machine)
    return list(chain.from_iterable(sorted(home.glob(pattern)) for home in homes))


def record_paths(smoke: bool, machine: str) -> list[Path]:
    """Return the paths of the records of a machine."""
    paths = files_of_machine(smoke, machine, "*/*.jsonl")
    return [path for path in paths if is_file_of_machine(path.relative_to(path.parents[2]))]


def read_records(smoke: bool, machine: str, aside: bool = False) -> list[Record]:
    """Return the usable records of one machine, in order of time; with `aside`, only those that are set aside."""
    paths = record_paths(smoke, machine)
    if aside:
        paths = files_of_machine(smoke, machine, f"{SET_ASIDE}/*/*.jsonl")
    contents = (_read_or_skip(path, smoke) for path in paths)
    return in_order(record for record in contents if isinstance(record, Record))


def in_order(records: Records) -> list[Record]:
    """Sort records by the times at which their processes began."""
    return sorted(records, key=lambda record: (record.start.started, record.path.name))


def read_description(machine: str, smoke: bool) -> Description | None:
    """Return the description of a machine; None if it has no usable one."""
    paths = files_of_machine(smoke, machine, DESCRIPTION)
    description = _read_or_skip(paths[0], smoke) if paths else None
    return description if isinstance(description, Description) else None


def known_hardware(machine: str, smoke: bool) -> dict[str, Any]:
    """Return the hardware of a machine from its description, or else from a record; {} if it has neither."""
    source = read_description(machine, smoke) or next(iter(read_records(smoke, machine)), None)
    return source.hardware.model_dump() if source else {}


def recorded_machines(smoke: bool) -> dict[str, int]:
    """Return the number of files with records of each machine that has such files or a description, by name.

    Imported machines are among them. No file is read, since a machine that is not shown must cost nothing.
    """
    folders = chain(records_folder(smoke).glob("*"), imported_folder(smoke).glob("*"))
    numbers = {}
    for name in sorted({folder.name for folder in folders if NAME.fullmatch(folder.name)}):
        number = len(record_paths(smoke, name))
        if number or read_description(name, smoke):
            numbers[name] = number
    return numbers


def check_recorded(machine: str, smoke: bool, option: str = "--machine") -> str:
    """Return the name of a machine; raise UserError, which names the `option`, if it has no records here."""
    for line in unknown(f"{option}: no records of", machine, recorded_machines(smoke)):
        raise UserError(line)
    return machine


def read_machines(smoke: bool, only: Iterable[str] = ()) -> Iterator[tuple[str, list[Record]]]:
    """Yield each machine's name and records, one machine at a time; with `only`, of the machines in `only` alone.

    Raises UserError at the end if there are records, but none of them can be used.
    """
    used = files = 0
    for machine in [*only] or recorded_machines(smoke):
        records = read_records(smoke, machine)
        used += len(records)
        files += len(record_paths(smoke, machine))
        yield machine, records
    if files and not used:
        raise UserError(
            f"{results_folder(smoke)}: none of {counted(files, 'record')} can be used; the lines above say why"
        )
