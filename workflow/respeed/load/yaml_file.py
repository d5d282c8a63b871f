"""YAML as people mean it: no tags, no aliases, no duplicate keys, no words or digits that turn into something else."""

import math
import re
from pathlib import Path
from typing import Any

import yaml

from respeed.model.errors import UserError

# These files are passed around: size and depth are bounded before anything is built.
MAX_BYTES = 1_000_000
MAX_DEPTH = 20


class _Loader(yaml.SafeLoader):
    """SafeLoader with YAML 1.2's scalars: `no` and `012` and `1:30` stay text, `1e3` is a number."""

    depth = 0

    def _mark(self) -> Any:
        peek: Any = self.peek_event  # without types in PyYAML's stubs
        return peek().start_mark

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases (*name) are not allowed", problem_mark=self._mark())
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem="is nested too deeply", problem_mark=self._mark())
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:str":
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} must be text", problem_mark=key.start_mark)
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} stands twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=True)

    def construct_yaml_float(self, node: yaml.ScalarNode) -> float:
        """1e6 and 7.0 are whole numbers to whoever writes them, so they are to us."""
        number = super().construct_yaml_float(node)
        if not math.isfinite(number):
            raise yaml.MarkedYAMLError(problem=f"the number {node.value} is too large", problem_mark=node.start_mark)
        return int(number) if number.is_integer() else number


_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_yaml_float)
_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|false", "tf"),
    ("null", r"null|~|", "n~"),
    ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(0|[1-9][0-9]*)(\.[0-9]*([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)", "-+0123456789"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), [*_first, ""])


def read_text(path: Path) -> str:
    """The file's text; UserError if it is missing, unreadable, too large or not UTF-8."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"{path}: larger than {MAX_BYTES} bytes, which no file of this kind needs")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{path}: is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def read_yaml(path: Path) -> Any:
    """Parse one YAML file; UserError, one line with the file and the line number, if it is not plain YAML."""
    return parse_yaml(read_text(path), str(path))


def parse_yaml(text: str, where: str) -> Any:
    """Parse a text; UserError, one line that begins with `where`, if it is not plain YAML."""
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"{where}{line}: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise UserError(f"{where}: is not YAML: {' '.join(str(error).split())}") from None
