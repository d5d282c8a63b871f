"""YAML as people mean it: no tags, no aliases, no duplicate keys, no words or digits that turn into something else."""

import copy
import functools
import re
from pathlib import Path
from typing import Any

import yaml

from respeed.errors import UserError
from respeed.inputs import files
from respeed.inputs.files import from_here
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


class _Loader(yaml.SafeLoader):
    """SafeLoader with YAML 1.2's scalars: `no` and `012` and `1:30` stay text, `1e3` is a number."""

    depth = 0
    values = 0

    def _mark(self) -> Any:
        peek: Any = self.peek_event  # without types in PyYAML's stubs
        return peek().start_mark

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases (*name) are not allowed", problem_mark=self._mark())
        peek: Any = self.peek_event
        if tag := getattr(peek(), "tag", None):
            short = clip(tag.replace("tag:yaml.org,2002:", "!!"), SHOWN)
            problem = f"tags ({short}) are not allowed; write the value alone"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=self._mark())
        self.depth += 1
        self.values += 1
        if self.depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem="is nested too deeply", problem_mark=self._mark())
        if self.values > MAX_VALUES:
            raise yaml.MarkedYAMLError(problem=f"has more than {MAX_VALUES} values", problem_mark=self._mark())
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:str":
                raise yaml.MarkedYAMLError(problem=f"the key {_shown(key)} must be text", problem_mark=key.start_mark)
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {_shown(key)} stands twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=True)

    def construct_number(self, node: yaml.ScalarNode) -> float:
        """1e6 and 7.0 are whole numbers to whoever writes them, so they are to us."""
        number = float(node.value)
        if abs(number) > LARGEST:
            raise yaml.MarkedYAMLError(problem=f"the number {_shown(node)} is too large", problem_mark=node.start_mark)
        if abs(number) < SMALLEST and re.search("[1-9]", re.split("[eE]", node.value)[0]):
            raise yaml.MarkedYAMLError(problem=f"the number {_shown(node)} is too small", problem_mark=node.start_mark)
        # A whole number may have more digits than a float holds.
        whole = re.fullmatch(r"[-+]?[0-9]+", node.value)
        return int(node.value) if whole else int(number) if number.is_integer() else number


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


def read_text(path: Path) -> str:
    """The file's text; UserError if it is missing, unreadable, too large, no regular file or not UTF-8."""
    return files.read_text(path, MAX_BYTES)


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
