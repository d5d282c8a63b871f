"""Read files that people write and share: regular files of bounded size, whatever their name leads to; and YAML as
people mean it, without tags, aliases, duplicate keys, or words and digits that turn into something else."""

import functools
import os
import re
import stat
from pathlib import Path
from typing import Any

import yaml

from respeed.errors import UserError
from respeed.model.fields import LARGEST
from respeed.paths import ROOT
from respeed.text import clip, name_unprintable

# These files are passed around: size and depth are bounded before anything is built. The longest paper has 19 kB.
MAX_BYTES = 100_000
MAX_DEPTH = 20
# What a message shows of a value.
SHOWN = 80


def from_here(path: Path) -> Path:
    """Return the path as messages name it: of the project, or below the working directory, relative to that."""
    try:
        if path.is_relative_to(ROOT) or path.is_relative_to(Path.cwd()):
            return Path(os.path.relpath(path))
    except (OSError, ValueError):  # the directory is gone, or on another drive
        pass
    return path


def read_bounded(path: Path, most: int) -> bytes:
    """Return the file's bytes; UserError, one line, if it is missing, unreadable, of more than `most` bytes, or none
    that has an end: a pipe, a device, a folder."""
    shown = from_here(path)
    try:
        # Looked at before it is opened: to open some devices is to make them do something.
        if not stat.S_ISREG(path.stat().st_mode):
            raise UserError(f"{shown}: is no regular file, but a folder, a pipe or a device; put the file itself there")
        with path.open("rb") as file:
            content = file.read(most + 1)
    except ValueError:
        raise UserError(f"{shown}: cannot be the name of a file") from None
    except OSError as error:
        raise UserError(f"{shown}: cannot be read: {error.strerror}") from None
    if len(content) > most:
        raise UserError(f"{shown}: larger than {most} bytes, which no file of this kind needs")
    return content


def read_text(path: Path, most: int = MAX_BYTES) -> str:
    """Return the text of such a file; UserError if it is not UTF-8."""
    try:
        return read_bounded(path, most).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{from_here(path)}: is not UTF-8 text; save it as UTF-8") from None


def read_yaml(path: Path) -> Any:
    """Return what one YAML file holds; UserError, one line with the file and the line number, if it is not plain."""
    return parse_yaml(read_text(path), str(from_here(path)))


# One command may read config.yaml, papers and profiles for several of its steps, and to parse them is slow.
@functools.lru_cache(maxsize=256)
def parse_yaml(text: str, where: str) -> Any:
    """Return what a text holds, which nobody may change; UserError, one line that begins with `where`, if not plain."""
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"{where}{line}: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise UserError(f"{where}: is not YAML: {' '.join(str(error).split())}") from None


class _Loader(yaml.SafeLoader):
    """SafeLoader without tags, aliases, duplicate keys and texts that cannot be printed, and with YAML 1.2's scalars:
    `no` and `012` and `1:30` stay text, `1e3` is a number."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        peek: Any = self.peek_event  # without types in PyYAML's stubs
        event = peek()
        self.depth += 1
        if isinstance(event, yaml.AliasEvent):
            raise _refused("aliases (*name) are not allowed; write the value again", event)
        if tag := getattr(event, "tag", None):
            short = clip(tag.replace("tag:yaml.org,2002:", "!!"), SHOWN)
            raise _refused(f"tags ({short}) are not allowed; write the value alone", event)
        if self.depth > MAX_DEPTH:
            raise _refused("is nested too deeply", event)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:str":
                raise _refused(f"the key {_shown(key)} must be text; put quotes around it", key)
            if key.value in seen:
                raise _refused(f"the key {_shown(key)} stands twice; leave one of them out", key)
            seen.add(key.value)
        return super().construct_mapping(node, deep=True)

    def construct_text(self, node: yaml.ScalarNode) -> str:
        if char := name_unprintable(node.value):
            raise _refused(f"a text holds the character {char}; write it without, on one line", node)
        return str(node.value)

    def construct_number(self, node: yaml.ScalarNode) -> float:
        """Return 1e6 and 7.0 as whole numbers, which they are to whoever writes them."""
        number = float(node.value)
        return int(number) if number.is_integer() and number < LARGEST else number


def _refused(problem: str, at: Any) -> yaml.MarkedYAMLError:
    """Return the error about an event or a node."""
    return yaml.MarkedYAMLError(problem=problem, problem_mark=at.start_mark)


def _shown(node: Any) -> str:
    return clip(repr(node.value), SHOWN)


_Loader.add_constructor("tag:yaml.org,2002:str", _Loader.construct_text)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_number)
_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|false", "tf"),
    ("null", r"null|~|", "n~"),
    ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(0|[1-9][0-9]*)(\.[0-9]*([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)", "-+0123456789"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), [*_first, ""])
