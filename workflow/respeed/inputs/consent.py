"""Consent to run the programs that papers name: to every command, and to every file in the paper's folder.

Nothing but `allow: [NAME@CHECKSUM]` in config.yaml lets a paper's programs run. The checksum is over what a user was
shown: the commands of all cases, rows and presets, and the files that lie beside paper.yaml.
"""

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from respeed.errors import UserError
from respeed.inputs.papers import PAPER_FILES
from respeed.inputs.reader import from_here, read_yaml
from respeed.machine.software import checksum_of
from respeed.model import ARCHITECTURES, Case, command_of
from respeed.paths import ROOT, private_folder, write_json
from respeed.text import counted, join_words

# Digits of a checksum. Who makes both versions of a paper finds two with the same eight digits in a second.
DIGITS = 32
# The files that respeed reads itself, and runs nothing of.
OWN_FILES = ("paper.yaml", "published.csv")


@dataclass(frozen=True)
class Programs:
    """What a paper's programs may run: `commands`, one a line, and the SHA-256 of each of the `files`, by its path."""

    paper: str
    commands: list[str]
    files: dict[str, str]

    @functools.cached_property
    def consent(self) -> str:
        """Return what config.yaml says to allow this: NAME@CHECKSUM."""
        said = json.dumps([self.commands, self.files])
        return f"{self.paper}@{hashlib.sha256(said.encode()).hexdigest()[:DIGITS]}"


def why_denied(case: Case) -> str | None:
    """Return why the case's program may not run; None if config.yaml allows it as it is now, or without a program."""
    paper = case.parameters.get("program", {}).get("paper")
    if paper is None or find_programs(paper).consent in _allowed():
        return None
    return f"programs of {paper} are not allowed to run; respeed check shows their commands, and how to allow them"


def say_denied(paper: str) -> list[str]:
    """Return lines about a paper whose programs may not run: what they would run, and how to allow it."""
    programs = find_programs(paper)
    if not programs.commands or programs.consent in _allowed():
        return []
    # So that a later version can be compared with what was shown here.
    with contextlib.suppress(OSError, UserError):
        write_json(_shown_file(programs.consent), dataclasses.asdict(programs))
    changes = join_words([*_changes(programs)])
    files = f" with {counted(len(programs.files), 'file')} in that folder" if programs.files else ""
    return [
        f"{paper}: its programs are not allowed to run{f', as they have changed: {changes}' if changes else ''}",
        f"  commands ({from_here(PAPER_FILES.path(paper))}):",
        *(f"    {command}" for command in programs.commands),
        f"  if you trust them{files}, write in config.yaml: allow: [{programs.consent}]",
    ]


def find_programs(paper: str) -> Programs:
    """Return what the programs of a paper may run."""
    file = PAPER_FILES.path(paper)
    now, folder = file.stat(), file.parent
    commands = _find_commands(paper, now.st_ino, now.st_size, now.st_mtime_ns)
    paths = sorted(path for path in folder.rglob("*") if path.is_file() or path.is_symlink())
    names = {path.relative_to(folder).as_posix(): path for path in paths if commands}
    return Programs(paper, commands, {name: _sum(path) for name, path in names.items() if name not in OWN_FILES})


@functools.lru_cache(maxsize=64)
def _find_commands(paper: str, *_written: int) -> list[str]:
    """Return the commands of all cases on all kinds of rows, with names in place of the cases' numbers."""
    commands = set[str]()
    for table in PAPER_FILES.load(paper).experiments.values():
        for case in (*table.cases, *table.smoke_cases):
            texts = {key: said for key, said in case.parameters.items() if not isinstance(said, int | float)}
            words = [command_of(dataclasses.replace(case, parameters=texts), row) for row in ARCHITECTURES]
            commands |= {" ".join(map(_quote, one)) for one in words if one}
    return sorted(commands)


def _quote(word: str) -> str:
    """Return a word as a shell takes it, in which no letter can pass for another: beyond ASCII they are numbers."""
    numbered = word.encode("unicode_escape").decode().replace("'", "\\'")
    return shlex.quote(word) if word.isascii() else f"$'{numbered}'"


def _sum(path: Path) -> str:
    """Return the SHA-256 of a file; of a link that leads to none, where it leads."""
    return checksum_of(path) if path.is_file() else f"link to {os.readlink(path)}"


def _changes(programs: Programs) -> Iterator[str]:
    """Yield what has changed since the paper was allowed, if it was, and if what was allowed was shown here."""
    for consent in _allowed():
        if consent.rpartition("@")[0] == programs.paper:
            before: Mapping[str, Any] = {"commands": programs.commands, "files": programs.files}
            with contextlib.suppress(OSError, UserError, ValueError):
                before = json.loads(_shown_file(consent).read_text(encoding="utf-8"))
            new = [command for command in programs.commands if command not in before["commands"]]
            names = sorted({*programs.files} | {*before["files"]})
            files = [name for name in names if programs.files.get(name) != before["files"].get(name)]
            yield from (f"new command {command}" for command in new)
            yield from files or ([] if new else ["a command is gone, or it was allowed elsewhere"])


def _shown_file(consent: str) -> Path:
    return private_folder("consent") / f"{consent}.json"


def _allowed() -> list[str]:
    """Return `allow` as config.yaml has it; `load_config` reports mistakes in that file."""
    data = read_yaml(ROOT / "config.yaml")
    allowed = (data.get("allow") or ()) if isinstance(data, dict) else ()
    return [one for one in allowed if isinstance(one, str)] if isinstance(allowed, list) else []
