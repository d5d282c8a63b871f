"""Where files lie, how they are written, and which names are allowed, since names become folders.

People write papers, rows and notes on machines in a clone of respeed, under ``workflow``, or in a study: a folder of
their own, which `respeed init` makes. A study has respeed's as well. A run writes files under ``results``, or, if its
cases are tiny, under ``results/smoke``:

    records/<machine>/machine.json                           what the machine is
    records/<machine>/<profile>/<time>-<letters>.jsonl       what a process measured on a row of the tables
    imported/<machine>/...                                   the same, of a machine whose records others have sent
"""

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
import stat
import string
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from platformdirs import user_cache_path

from respeed.errors import RESUMES, UserError, cannot_write, tell

PACKAGE = Path(__file__).resolve().parent
# What a wheel brings besides Python lies in the package. A clone has it around the package.
IN_WHEEL = PACKAGE / "share"
ROOT = IN_WHEEL if IN_WHEEL.is_dir() else PACKAGE.parents[1]
WORKFLOW = ROOT / "workflow"
DATASHEETS = WORKFLOW / "datasheets.yaml"
STARTERS = WORKFLOW / "starters"
BACKENDS = PACKAGE / "backends"

# By this line a Snakefile makes its folder a study.
OF_STUDY = "from respeed.workflow import SNAKEFILE"
MOST_OF_SNAKEFILE = 10_000
# Papers that lie in neither place, by name: their folders.
ELSEWHERE: dict[str, Path] = {}

RESULTS = Path("results")
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
# Words that stand for machines in `show`, and for the paper in tables: no machine has one as its name.
RESERVED = ("this", "all", "paper")
# Several times the 20 MB that a run of all papers wrote, with its report and the compiled kernels.
NEEDED_BYTES = 100_000_000


def is_study(folder: Path) -> bool:
    """Return whether a folder is a study: whether its Snakefile includes respeed's."""
    path = folder / "Snakefile"
    if not path.is_file():
        return False
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return OF_STUDY in file.read(MOST_OF_SNAKEFILE)
    except OSError:
        return False


# Where config.yaml lies, and what people write: the working directory if it is a study, otherwise respeed's own folder.
STUDY = Path.cwd() if is_study(Path()) else ROOT
# What stands before a command that the user is to give: a clone has a script that finds the commands.
RUN = "./run " if STUDY == ROOT and (ROOT / "run").is_file() else ""


def folders_of(kind: str) -> tuple[Path, ...]:
    """Return the folders of papers, hardware, machines or workloads: the study's own first, if this is one."""
    shipped = (PACKAGE if kind == "workloads" else WORKFLOW) / kind
    return (shipped,) if STUDY == ROOT else (STUDY / kind, shipped)


def find_file(kind: str, name: str) -> Path:
    """Return the path of a file or folder of papers, hardware or machines: the study's own, if it has that name."""
    if kind == "papers" and name in ELSEWHERE:
        return ELSEWHERE[name]
    places = [folder / name for folder in folders_of(kind)]
    return next(filter(os.path.lexists, places), places[0])


def class_name(name: str) -> str:
    """Return the name of a workload's class, such as VectorSum for vector_sum."""
    return string.capwords(name, "_").replace("_", "")


def check_name(kind: str, name: str, where: str) -> str:
    """Return `name` if it is allowed as a name; raise UserError otherwise."""
    start = f"{where}: {name!r} cannot be the name of a {kind}"
    if not NAME.fullmatch(name):
        rule = "use small letters, digits, - and _ (at most 64, starting with a letter or digit)"
        raise UserError(f"{start}; {rule}")
    if kind == "machine" and name in RESERVED:
        raise UserError(f"{start}, since it stands for machines, or for the paper; choose another one")
    return name


def results_folder(smoke: bool) -> Path:
    """Return the folder of a run's files; the smoke preset has its own, to keep its times apart from real ones."""
    return RESULTS / "smoke" if smoke else RESULTS


def records_folder(smoke: bool) -> Path:
    """Return the folder of the records of all machines that are measured here."""
    return results_folder(smoke) / "records"


def imported_folder(smoke: bool) -> Path:
    """Return the folder of the records of other machines, which were imported."""
    return results_folder(smoke) / "imported"


# --- folders of the user's own


# Why the user's cache cannot be used, in a line.
COMPLAINTS: list[str] = []


def private_folder(name: str = "") -> Path:
    """Return the folder `name` in respeed's cache; what lies there may be run.

    If the user's cache cannot be used, a line says so, which COMPLAINTS keep. Then the cache of this process, and of
    those that it starts, is a folder among the temporary files.

    Raises
    ------
    UserError
        Nor can that folder be used: it is a link, or others own it or can write to it.
    OSError
        Nor can that folder be made.
    """
    home = user_cache_path("respeed")
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        return _make_own(home, home / name)
    except (UserError, OSError) as error:
        temporary = Path(tempfile.gettempdir(), f"respeed-{os.geteuid()}")
        if home.parent == temporary:
            raise
        folder = _make_own(temporary, temporary / "respeed", temporary / "respeed" / name)
        COMPLAINTS.append(f"{error}; meanwhile {temporary} is used")
        tell(COMPLAINTS[-1])
        os.environ["XDG_CACHE_HOME"] = str(temporary)
        return folder


def _make_own(*folders: Path) -> Path:
    """Make folders, each in the one before, to which nobody else can write, and return the last."""
    for path in folders:
        path.mkdir(mode=0o700, exist_ok=True)
        facts = path.lstat()
        is_own = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid()
        if not is_own or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise UserError(
                f"{path}: others could put code there, which would be run: it must be a folder of yours, no link, that "
                "only you can write to; remove it, or set XDG_CACHE_HOME to another folder"
            )
        if not os.access(path, os.W_OK):
            raise UserError(f"{path}: cannot be written to; set XDG_CACHE_HOME to another folder")
    return folders[-1]


def read_kept(path: Path) -> dict[str, Any]:
    """Return the JSON object that an earlier run kept in a file; an empty one if there is none that can be read."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict):
            return content
    return {}


# --- writing


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path`, completely or not at all."""
    with replacing(path) as file:
        file.write(text.encode("utf-8"))


def write_json(path: Path, data: Any) -> None:
    """Write `data` to `path` as JSON, completely or not at all."""
    write_text(path, json.dumps(data, indent=1) + "\n")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Yield a temporary file to write to; once it is complete, fsync it and rename it to `path`.

    Raises UserError if the system refuses to write the file, such as on a full disk.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        with contextlib.suppress(OSError):  # after a failure; otherwise the file has its name by now
            part.unlink()


def lock_file(path: Path) -> int | None:
    """Lock a file, created if need be; return the descriptor that holds the lock, or None if it is already locked.

    Where the file system has no locks, a line says so, and the file is only opened. Raises OSError if it cannot be.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as error:
        tell(f"{path}: no lock ({error.strerror}); start nothing else here meanwhile")
    return descriptor


def hold_folder(smoke: bool) -> int:
    """Lock the folder of results until the returned descriptor is closed or the process ends.

    Raises UserError if another run has locked the folder, or if the folder cannot be written.
    """
    folder = results_folder(smoke)
    try:
        descriptor = lock_file(folder / ".lock")
    except OSError as error:
        raise cannot_write(folder, error) from None
    if descriptor is None:
        raise UserError(f"{folder}: another run is at work in this folder; wait for it or stop it")
    return descriptor


def existing_folder(folder: Path) -> Path:
    """Return the folder as an absolute path, or the nearest folder above it that exists."""
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    return existing


def bytes_free(folder: Path) -> int:
    """Return the bytes that are free on the disk that `folder` lies on, or will lie on."""
    return shutil.disk_usage(existing_folder(folder)).free


def find_lacking(folder: Path) -> list[str]:
    """Return what a folder lacks: permission to write, or locks."""
    try:
        with tempfile.NamedTemporaryFile(prefix=".respeed-", dir=existing_folder(folder)) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return ["locks"]
    except OSError:
        return ["permission to write"]
    return []


def check_room(folder: Path) -> None:
    """Raise UserError if the disk that `folder` lies on, or will lie on, is nearly full."""
    free = bytes_free(folder)
    if free < NEEDED_BYTES:
        raise UserError(
            f"{folder}: {free / 1e6:.0f} MB are free there, and a run may need {NEEDED_BYTES / 1e6:.0f} MB; make room, "
            f"and {RESUMES}"
        )
