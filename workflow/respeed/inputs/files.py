"""Reads files that people write and share: regular files of bounded size, whatever their name leads to; and YAML as
people mean it, without tags, aliases, duplicate keys, or words and digits that turn into something else."""

import copy
import functools
import os
import re
import stat
from pathlib import Path
from typing import Any

import yaml

from respeed.errors import UserError
from respeed.paths import HARDWARE, MACHINES, PAPERS, ROOT
from respeed.text import clip

# These files are passed around: size, depth and numbers are bounded before anything is built. The longest paper has
# 19 kB and 2,000 values; a file at the bounds is read in some seconds.
MAX_BYTES = 300_000
MAX_DEPTH = 20
MAX_VALUES = 20_000
# No size, rate or count of anything is larger, or nearer to 0, than this.
LARGEST, SMALLEST = 1e30, 1e-30
# What a message shows of a value.
SHOWN = 60
# How others end the names of YAML files.
ENDINGS = (".yml", ".YAML", ".YML")


def from_here(path: Path) -> Path:
    """The same file, as messages name it: one of the project's, or below the working directory, relative to that."""
    try:
        if path.is_relative_to(ROOT) or path.is_relative_to(Path.cwd()):
            return Path(os.path.relpath(path))
    except (OSError, ValueError):  # the directory is gone, or on another drive
        pass
    return path


def read_bounded(path: Path, most: int) -> bytes:
    """The file's bytes; UserError, one line, if it is missing, unreadable, of more than `most` bytes, or none that has
    an end: a pipe, a device, a folder."""
    shown = from_here(path)
    try:
        # Looked at before it is opened: to open some devices is to make them do something.
        _check_regular(os.stat(path), shown)
        # Not waiting: should it have become a pipe meanwhile, nobody may ever write to it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            _check_regular(os.fstat(descriptor), shown)
            content = file.read(most + 1)
    except ValueError:
        raise UserError(f"{shown}: cannot be the name of a file") from None
    except OSError as error:
        raise UserError(f"{shown}: cannot be read: {error.strerror}") from None
    if len(content) > most:
        raise UserError(f"{shown}: larger than {most} bytes, which no file of this kind needs")
    return content


def read_text(path: Path, most: int = MAX_BYTES) -> str:
    """The text of such a file; UserError if it is not UTF-8."""
    try:
        return read_bounded(path, most).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{from_here(path)}: is not UTF-8 text; save it as UTF-8") from None


def _check_regular(found: os.stat_result, shown: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise UserError(f"{shown}: is no regular file, but a folder, a pipe or a device; put the file itself there")


def overlooked(hardware: Path = HARDWARE, machines: Path = MACHINES, papers: Path = PAPERS) -> list[str]:
    """A line for each file that looks like one of ours and is not read, because its name ends otherwise."""
    found = [path for folder in (hardware, machines) for path in folder.glob("*")]
    found += papers.glob("*/paper.*")
    return [
        f"{from_here(path)}: is not read, because of its name; rename it to {path.stem}.yaml"
        for path in sorted(found)
        if path.suffix in ENDINGS
    ]


def read_yaml(path: Path) -> Any:
    """Parse one YAML file; UserError, one line with the file and the line number, if it is not plain YAML."""
    return parse_yaml(read_text(path), str(from_here(path)))


def parse_yaml(text: str, where: str) -> Any:
    """Parse a text; UserError, one line that begins with `where`, if it is not plain YAML."""
    return copy.deepcopy(_parsed(text, where))


# One command may read config.yaml, papers and profiles for several of its steps, and to parse them is slow.
@functools.lru_cache(maxsize=256)
def _parsed(text: str, where: str) -> Any:
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"{where}{line}: {error.problem or error.context}") from None
    except yaml.reader.ReaderError as error:
        line = f":{text.count(chr(10), 0, error.position) + 1}"
        raise UserError(f"{where}{line}: the character U+{ord(text[error.position]):04X} cannot stand here") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise UserError(f"{where}: is not YAML: {' '.join(str(error).split())}") from None


class _Loader(yaml.SafeLoader):
    """SafeLoader with YAML 1.2's scalars: `no` and `012` and `1:30` stay text, `1e3` is a number."""

    depth = 0
    values = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        peek: Any = self.peek_event  # without types in PyYAML's stubs
        event = peek()
        self.depth += 1
        self.values += 1
        if isinstance(event, yaml.AliasEvent):
            raise _refused("aliases (*name) are not allowed", event)
        if tag := getattr(event, "tag", None):
            short = clip(tag.replace("tag:yaml.org,2002:", "!!"), SHOWN)
            raise _refused(f"tags ({short}) are not allowed; write the value alone", event)
        if self.depth > MAX_DEPTH:
            raise _refused("is nested too deeply", event)
        if self.values > MAX_VALUES:
            raise _refused(f"has more than {MAX_VALUES} values", event)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:str":
                raise _refused(f"the key {_shown(key)} must be text", key)
            if key.value in seen:
                raise _refused(f"the key {_shown(key)} stands twice", key)
            seen.add(key.value)
        return super().construct_mapping(node, deep=True)

    def construct_number(self, node: yaml.ScalarNode) -> float:
        """1e6 and 7.0 are whole numbers to whoever writes them, so they are to us."""
        number = float(node.value)
        if abs(number) > LARGEST:
            raise _refused(f"the number {_shown(node)} is too large", node)
        if abs(number) < SMALLEST and re.search("[1-9]", re.split("[eE]", node.value)[0]):
            raise _refused(f"the number {_shown(node)} is too small", node)
        # A whole number may have more digits than a float holds.
        whole = re.fullmatch(r"[-+]?[0-9]+", node.value)
        return int(node.value) if whole else int(number) if number.is_integer() else number


def _refused(problem: str, at: Any) -> yaml.MarkedYAMLError:
    """`at` is an event or a node."""
    return yaml.MarkedYAMLError(problem=problem, problem_mark=at.start_mark)


def _shown(node: Any) -> str:
    return clip(repr(node.value), SHOWN)


for _tag in ("int", "float"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _Loader.construct_number)
_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|false", "tf"),
    ("null", r"null|~|", "n~"),
    ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(0|[1-9][0-9]*)(\.[0-9]*([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)", "-+0123456789"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), [*_first, ""])
