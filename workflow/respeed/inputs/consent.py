"""Consent to run the programs that papers name: to every command, and to every file in the paper's folder.

Nothing but `allow: [NAME@CHECKSUM]` in config.yaml lets a paper's programs run. The checksum is over all files of the
paper's folder: its paper.yaml has the commands of all cases, rows and presets, which a user is shown.
"""

import contextlib
import hashlib
import os
import shlex
import stat
from collections.abc import Mapping
from pathlib import Path

from respeed.errors import UserError
from respeed.inputs.config import DIGITS
from respeed.inputs.papers import PAPER_FILES
from respeed.inputs.reader import from_here, read_yaml
from respeed.machine.software import checksum_of
from respeed.model import ARCHITECTURES, Case, command_of
from respeed.paths import STUDY, private_folder, write_text
from respeed.text import join_words

# More than any program of a paper has; each file counts as so many bytes more.
MOST_BYTES = 2**32
A_FILE = 2**18


def why_denied(case: Case) -> str | None:
    """Return why the case's program may not run; None if config.yaml allows it as it is now, or without a program."""
    paper = case.program.get("paper")
    try:
        if paper is None or find_consent(paper) in _allowed():
            return None
    except UserError as error:
        return str(error)
    return f"programs of {paper} are not allowed to run; respeed check shows their commands, and how to allow them"


def say_denied(paper: str) -> list[str]:
    """Return lines about a paper whose programs may not run: what they would run, and how to allow it."""
    commands = find_commands(paper)
    if not commands:
        return []
    first = f"{paper}: its programs are not allowed to run"
    try:
        files = _find_files(paper)
    except UserError as error:
        return [f"{first}: {error}"]
    consent = _sum_up(paper, files)
    allowed = _allowed()
    if consent in allowed:
        return []
    before = [text for text in allowed if text.startswith(f"{paper}@")]
    if before:
        first += f", as they have changed: {join_words(_changes(commands, files, before[0]))}"
    # So that a later version can be compared with what was shown here.
    with contextlib.suppress(OSError, UserError):
        write_text(_shown_file(consent), "\n".join(commands + _lines(files)))
    return [
        first,
        f"  commands ({from_here(PAPER_FILES.path(paper))}):",
        *(f"    {command}" for command in commands),
        f"  if you trust them and all files of that folder, write in config.yaml: allow: [{consent}]",
    ]


def find_consent(paper: str) -> str:
    """Return what config.yaml says to allow a paper's programs as they are now: NAME@CHECKSUM."""
    return _sum_up(paper, _find_files(paper))


def _sum_up(paper: str, files: Mapping[str, str]) -> str:
    digest = hashlib.sha256("\n".join(_lines(files)).encode())
    return f"{paper}@{digest.hexdigest()[:DIGITS]}"


def find_commands(paper: str) -> list[str]:
    """Return the commands of all cases on all kinds of rows."""
    commands = set[str]()
    for table in PAPER_FILES.load(paper).experiments.values():
        for case in (*table.cases, *table.smoke_cases):
            commands |= {" ".join(map(quote_word, command_of(case, row))) for row in ARCHITECTURES}
    return sorted(filter(None, commands))


def quote_word(word: str) -> str:
    """Return a word as a shell takes it, in which no letter can pass for another: beyond ASCII they are numbers."""
    if word.isascii() and word.isprintable():
        return shlex.quote(word)
    numbered = word.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(char if " " <= char <= "~" else f"\\U{ord(char):08x}" for char in numbered) + "'"


def _lines(files: Mapping[str, str]) -> list[str]:
    return sorted(f"{name} {contents}" for name, contents in files.items())


def _find_files(paper: str) -> dict[str, str]:
    """Return for each file in the paper's folder, by its name, its SHA-256 or, of a link, where it leads.

    Raises UserError for what could change unseen: what cannot be read, is no file, or is a link that leads out.
    """
    folder = PAPER_FILES.path(paper).parent
    files = {}
    room = MOST_BYTES
    try:
        for home, folders, names in os.walk(folder, onerror=_raise):
            for path in [Path(home, name) for name in folders + names]:
                name = quote_word(str(path.relative_to(folder)))
                kind = path.lstat().st_mode
                if stat.S_ISREG(kind):
                    room -= path.stat().st_size + A_FILE
                    if room < 0:
                        raise UserError(f"{folder}: has too much to be looked at; keep elsewhere what is not run")
                    files[name] = checksum_of(path)
                elif stat.S_ISLNK(kind) and not _leads_out(path, folder):
                    files[name] = quote_word(os.readlink(path))
                elif not stat.S_ISDIR(kind):
                    raise UserError(
                        f"{path}: is no file, or leads out of the paper's folder; put the file itself there"
                    )
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be read, and may be part of a program: {error.strerror}") from None
    return files


def _leads_out(link: Path, folder: Path) -> bool:
    """Return whether a link leads out of the folder, at once or by other links, even if it comes back."""
    target = Path(os.path.normpath(link.parent / os.readlink(link)))
    end = Path(os.path.realpath(link))
    return not (target.is_relative_to(folder) and end.is_relative_to(os.path.realpath(folder)))


def _raise(error: OSError) -> None:
    raise error


def _changes(commands: list[str], files: Mapping[str, str], consent: str) -> list[str]:
    """Return those commands and names of files that are new since the paper was allowed by this consent."""
    before = ""
    with contextlib.suppress(OSError, UserError, ValueError):
        before = _shown_file(consent).read_text(encoding="utf-8")
    lines = before.splitlines()
    new = [command for command in commands if command not in lines]
    for name, contents in files.items():
        if f"{name} {contents}" not in lines:
            new.append(name)
    return new if before and new else ["something is gone, or it was allowed elsewhere"]


def _shown_file(consent: str) -> Path:
    return private_folder("consent") / f"{consent}.txt"


def _allowed() -> list[str]:
    """Return `allow` as config.yaml has it; `load_config` has found mistakes in that file before."""
    return list(read_yaml(STUDY / "config.yaml").get("allow") or ())
