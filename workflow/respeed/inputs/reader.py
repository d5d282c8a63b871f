"""Read the files that people write and share: bound their size, parse plain YAML, and fit the data to models.

Each mistake is one line with the file, the key, the allowed values and the nearest name. All mistakes in a file's data
are found at once.
"""

import functools
import os
import re
import stat
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError
from yaml.composer import Composer
from yaml.parser import ParserError
from yaml.scanner import ScannerError

from respeed.errors import UserError, nearest, unknown
from respeed.model import LARGEST, Names
from respeed.paths import ELSEWHERE, NAME, STUDY, check_name, find_file, folders_of
from respeed.text import clip, name_odd, name_unprintable, squeeze

# People exchange these files, so their size is bounded before they are parsed. The longest paper has 23 kB.
MAX_BYTES = 100_000
# Letters of a value that a message shows.
SHOWN = 80
# How the names of notes and of editors' backups end: nobody expects that these are read.
NOTES = (".md", "~")
# Pydantic's messages, in words of YAML.
WORDS = {
    r"^\w+ should": "must", "^Value error, ": "", r", (not \d|got|unable).*| after validation": "",
    "valid tuple": "list", "(valid )?dictionary.*": "mapping", "valid integer": "whole number",
    "valid number": "number", "a valid string": "text", "a valid boolean": "true or false",
}  # fmt: skip
Model = TypeVar("Model")
Location = tuple[str | int, ...]


def mistakes_of(read: Callable[[], object]) -> list[str]:
    """Call `read`, and return a line for each mistake that it raises; none if it succeeds."""
    try:
        read()
    except UserError as error:
        return error.lines
    return []


# Files.


@dataclass(frozen=True)
class Files(Generic[Model]):
    """The files of one kind: hardware profiles, papers, or notes on machines; each is named after its subject.

    Parameters
    ----------
    kind : str
        The word for the subject of such a file in messages.
    folder : str
        The name of their folder; a study's folder of that name comes before respeed's.
    pattern : str
        The path of such a file in the folder, with a star in place of the name.
    read : callable
        Makes a model from a name and a path, or raises a UserError with all mistakes of the file.
    """

    kind: str
    folder: str
    pattern: str
    read: Callable[[str, Path], Model]

    def path(self, name: str) -> Path:
        """Return the path of the file of that name."""
        first, *rest = self.pattern.replace("*", name).split("/")
        return find_file(self.folder, first).joinpath(*rest)

    def names(self) -> Names:
        """Return the names of all files except drafts, which are files whose names are not allowed."""
        return tuple(filter(NAME.fullmatch, self._stems()))

    def load(self, name: str) -> Model:
        """Read the file of that name; raise UserError if there is none or it has mistakes."""
        for line in unknown(f"{from_here(folders_of(self.folder)[0])}: no {self.kind}", name, self.names()):
            raise UserError(line)
        return self._read(name)

    def load_all(self, names: Iterable[str] | None = None, chosen: Collection[str] | None = None) -> dict[str, Model]:
        """Read the files of these names, by default all files.

        Raises UserError if a `chosen` file has mistakes; if `chosen` is None, all are chosen. Any other file with
        mistakes is left out, with a message.
        """
        models = {}
        for name in self.names() if names is None else names:
            try:
                models[name] = self.load(name)
            except UserError as error:
                if chosen is None or name in chosen:
                    raise
                print(f"respeed: the {self.kind} {name} is left out: {error}", file=sys.stderr)
        return models

    def check(self) -> list[str]:
        """Return a line for each mistake in any file, drafts included."""
        lines = []
        for name in self._stems():
            lines += mistakes_of(functools.partial(self._read, name))
        return lines

    def unread(self) -> list[str]:
        """Return a line for each file of the user's that is not read because of its name, except notes and backups."""
        lines = []
        folder = folders_of(self.folder)[0]
        read = {self.path(name) for name in self._stems()}
        for path in sorted(folder.glob("[!._]*")):
            if read.isdisjoint({path, self.path(path.name)}) and not path.name.endswith(NOTES):
                stem, _, _ = path.name.partition(".")
                wanted = self.pattern.replace("*", stem)
                lines.append(f"{from_here(path)}: is not read; a {self.kind}'s file here is named {wanted}")
        return lines

    def _read(self, name: str) -> Model:
        path = from_here(self.path(name))
        check_name(self.kind, name, str(path))
        return self.read(name, path)

    def _stems(self) -> list[str]:
        names = {*ELSEWHERE} if self.folder == "papers" else set()
        for folder in folders_of(self.folder):
            paths = folder.glob(self.pattern)
            names |= {path.relative_to(folder).parts[0].removesuffix(".yaml") for path in paths}
        return sorted(names)


def from_here(path: Path) -> Path:
    """Return the path for messages, relative to the working directory if the path lies there or in the study."""
    if path.is_relative_to(STUDY) or path.is_relative_to(Path.cwd()):
        return Path(os.path.relpath(path))
    return path


def read_bounded(path: Path, most: int) -> bytes:
    """Return the file's bytes.

    Raises
    ------
    UserError
        The file is missing, unreadable, larger than `most` bytes, or not a regular file (a pipe, a device, a folder).
    """
    where = from_here(path)
    try:
        # The check comes before opening, since some devices act when they are opened.
        if not stat.S_ISREG(path.stat().st_mode):
            raise UserError(f"{where}: is no regular file, but a folder, a pipe or a device; put the file itself there")
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise UserError(f"{where}: cannot be read: {error.strerror}") from None
    if len(content) > most:
        raise UserError(f"{where}: larger than {most} bytes, which no file of this kind needs")
    return content


def read_text(path: Path, most: int = MAX_BYTES) -> str:
    """Return the file's text; raise UserError as `read_bounded` does, or if the text is not UTF-8."""
    try:
        return read_bounded(path, most).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{from_here(path)}: is not UTF-8 text; save it as UTF-8") from None


# YAML.


def read_yaml(path: Path) -> Any:
    """Return the data of a YAML file; raise UserError, with the line number, if the file is not plain YAML."""
    return parse_yaml(read_text(path), str(from_here(path)))


# Cached, since a command may read config.yaml, papers and profiles for several of its steps, and parsing is slow.
@functools.lru_cache(maxsize=256)
def parse_yaml(text: str, where: str) -> Any:
    """Return the data of a YAML text; callers share the data and must not change it.

    Raises UserError if the text is not plain YAML; its message begins with `where`.
    """
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f":{mark.line + 1}" if mark else ""
        problem = f"{line}: {error.problem or error.context}"
        if isinstance(error, ScannerError | ParserError):
            problem = _find_odd(error, text) or problem
        raise UserError(f"{where}{problem}") from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise UserError(f"{where}: is not YAML: {squeeze(str(error))}") from None


def _find_odd(error: yaml.MarkedYAMLError, text: str) -> str | None:
    """Return the line and name of the first character that is not what it seems, of those where the parser stumbled."""
    marks = [mark.line for mark in (error.context_mark, error.problem_mark) if mark]
    first = min(marks)
    lines = text.split("\n")[first : max(marks) + 1]
    for number, line in enumerate(lines, first + 1):
        if char := name_unprintable(line.strip("\r")) or name_odd(line):
            return f":{number}: holds the character {char}; replace it by a plain blank or mark"
    return None


class _Loader(Composer, yaml.CSafeLoader):
    """SafeLoader with libyaml's parser, the scalars of YAML 1.2, and without features that are rarely meant.

    It refuses tags, aliases, duplicate keys, and texts that cannot be printed. `no`, `012` and `1:30` stay texts, `1e3`
    is a number.
    """

    def __init__(self, stream: str) -> None:
        Composer.__init__(self)
        yaml.CSafeLoader.__init__(self, stream)

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: Any = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            raise _refused("aliases (*name) are not allowed; write the value again", event.start_mark)
        if tag := getattr(event, "tag", None):
            short = clip(tag.replace("tag:yaml.org,2002:", "!!"), SHOWN)
            raise _refused(f"tags ({short}) are not allowed; write the value alone", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            text = clip(repr(key.value), SHOWN)
            if key.tag != "tag:yaml.org,2002:str":
                raise _refused(f"the key {text} must be text; put quotes around it", key.start_mark)
            if key.value in seen:
                raise _refused(f"the key {text} is there twice; leave one of them out", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=True)

    def construct_text(self, node: yaml.ScalarNode) -> str:
        text: str = node.value
        if char := name_unprintable(text):
            raise _refused(f"a text holds the character {char}; write it without, on one line", node.start_mark)
        if text.strip() != text.strip(" ") and (char := name_odd(text)):
            raise _refused(f"a text begins or ends with the character {char}; write it without", node.start_mark)
        return text

    def construct_number(self, node: yaml.ScalarNode) -> float:
        """Return the number, as an int if it has no fraction, such as 1e6 or 7.0."""
        number = float(node.value)
        return int(number) if number.is_integer() and number < LARGEST else number


def _refused(problem: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


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


# Models.


def fit(form: Callable[..., Model], data: Any, path: Path, *, overridden: Collection[str] = (), **given: Any) -> Model:
    """Return the data of a file as a model.

    Parameters
    ----------
    form : type
        The model.
    data : Any
        The data.
    path : Path
        The file, for messages.
    overridden : collection of str
        The keys whose values come from --config in place of the file.
    **given : Any
        Fields of the model that the file may not set.

    Raises
    ------
    UserError
        The data does not fit the model; there is a line for each mistake.
    """
    messages = defaultdict[Location, list[str]](list)
    values: dict[Location, Any] = {}
    if isinstance(data, dict):
        for key in given:
            if key in data:
                messages[(key,)].append("unknown key; leave it out")
        data = data | given
    try:
        model: Model = adapter(form).validate_python(data)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            location, message = _explain(details, data, form)
            messages[location].append(message)
            values.setdefault(location, details["input"])
    if not messages:
        return model
    # If a value may have several forms, a mistake inside the value is clearer than one about the value itself.
    outer = set[Location]()
    for location in messages:
        outer.update(location[:length] for length in range(len(location)))
    lines = []
    for location in sorted(messages, key=len):
        if location not in outer and any(messages[location]):
            where = "--config" if location and location[0] in overridden else from_here(path)
            keys = ".".join(clip(str(part), SHOWN) for part in location)
            text = _join(messages[location], values.get(location))
            lines.append(": ".join(filter(None, [str(where), keys, text])))
    raise UserError(*lines)


def _explain(error: Any, data: Any, form: Any) -> tuple[Location, str]:
    """Return the location of a pydantic error in the data, and the error's message in words of YAML.

    The message is empty if the mistake is reported elsewhere.
    """
    location: Location = ()
    for part in error["loc"]:
        # Pydantic's place also names the form that it tried, if a value may have several, and the item of a list that
        # was made of a single value.
        is_item = isinstance(data, list | tuple) and isinstance(part, int)
        if is_item or (isinstance(data, dict) and part in data):
            location = (*location, part)
            data = data[part]
    match error["type"]:
        case "missing":
            return (*location, error["loc"][-1]), "is missing"
        case "unexpected_keyword_argument" | "extra_forbidden":
            keys = set[str]()
            for node in _forms_at(form, location[:-1]):
                keys.update(node.get("properties", ()))
            return location, f"unknown key{nearest(str(location[-1]), keys)}"
        case "string_pattern_mismatch":
            described = [node["description"] for node in _forms_at(form, location) if "description" in node]
            allowed = " or ".join(described) or error["ctx"]["pattern"]
            return location, f"must be {allowed}"
    message = error["msg"]
    for pattern, word in WORDS.items():
        message = re.sub(pattern, word, message)
    return location, message


def _join(messages: list[str], value: Any) -> str:
    """Join the messages about the forms that a value may have, as in "must be A or B, not C"."""
    if not all(message.startswith("must be ") for message in messages):
        messages = messages[:1]
    text = " or ".join(dict.fromkeys(messages)).replace(" or must be ", " or ")
    if not text.startswith("must "):
        return text
    allowed = re.findall("'([^']*)'", text)
    guess = nearest(str(value), allowed).partition(";")[0]
    given = "nothing" if value is None else clip(repr(value), SHOWN)
    return f"{text}, not {given}{guess}"


def _forms_at(form: Any, location: Location) -> list[dict[str, Any]]:
    """Return the nodes of the JSON Schema for this place, one for each form that the value may have."""
    schema = json_schema(form)
    nodes = [schema]
    for part in location:
        inner = "items" if isinstance(part, int) else "additionalProperties"
        parents = nodes
        nodes = []
        for parent in parents:
            node = parent.get("properties", {}).get(part) or parent.get(inner) or {}
            for option in node.get("anyOf", [node]):
                definition = option.get("$ref", "").rpartition("/")[2]
                nodes.append(schema["$defs"][definition] if definition else option)
    return nodes


@functools.cache
def json_schema(form: Any) -> dict[str, Any]:
    """Return the JSON Schema of a model, for editors, and to find the key nearest to an unknown one."""
    return adapter(form).json_schema()


@functools.cache
def adapter(form: Any) -> TypeAdapter[Any]:
    """Return pydantic's adapter of a model."""
    return TypeAdapter(form)
