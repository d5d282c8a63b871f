"""The workloads and backends that exist, and the facts that each declares in its file.

These files are parsed, not run. To import all of them would take some forty times as long, because of torch and Numba,
and would run each file whenever any file is checked: a file that ends the process, or waits, would stop every command.
So only literals, fields and the names of functions are read, and a broken file stops only runs that name it.
"""

import ast
import functools
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, ConfigDict
from pydantic.dataclasses import dataclass

from respeed.errors import UserError, unknown
from respeed.inputs.reader import fit, from_here, read_text
from respeed.model import SOME, Names
from respeed.paths import BACKENDS, folders_of

MAX_BYTES = 1_000_000
# A backend declares a field as a constant in capitals.
CONSTANTS = ConfigDict(alias_generator=str.upper, validate_by_name=True, validate_by_alias=True)
# The methods that a workload must have besides a step, and the class variables that it may declare.
METHODS = ("arrays", "check", "flops", "traffic_bytes")
# The step by a row's operations, or its parts, and the frameworks whose rows have these.
SHARED = {"step", "steps"}
SHARING = ("numpy", "torch")
VARIABLES = ("frameworks", "precisions", "products", "allocates")

Kinds = dict[str, Literal["whole", "real", "any"] | Names]
Facts = TypeVar("Facts")


@dataclass(frozen=True)
class WorkloadFacts:
    """The facts that a workload declares.

    Attributes
    ----------
    file : Path
        The file that defines the workload's class.
    parameters, options : mapping
        Required and optional parameters of a case, each with its kind ("whole", "real", "any") or allowed texts.
    methods : tuple of str
        The names of its methods; a step is named after its framework, or is shared.
    frameworks, precisions : tuple of str
        The only frameworks and precisions that it runs in. If empty: every framework that it has a step for, and every
        precision.
    products, allocates : bool
        Whether matrix products decide a step's result, and whether a step must allocate arrays.
    """

    file: Path
    parameters: Kinds
    options: Kinds
    methods: Names
    frameworks: Names = ()
    precisions: Names = ()
    products: bool = True
    allocates: bool = False

    @property
    def takes(self) -> Kinds:
        """Return all parameters of a case, required and optional."""
        return self.parameters | self.options

    def has_step_for(self, framework: str) -> bool:
        """Return whether the workload has a step, or parts of a step, in a framework."""
        if self.frameworks and framework not in self.frameworks:
            return False
        if framework in SHARING and not SHARED.isdisjoint(self.methods):
            return True
        step = re.compile("(steps_)?{0}|{0}_.*".format(re.escape(framework)))
        return any(map(step.fullmatch, self.methods))

    @functools.cached_property
    def backends(self) -> Names:
        """Return the names of the backends that the workload runs on."""
        return tuple(name for name, backend in backends().items() if self.has_step_for(backend.framework))


@dataclass(frozen=True, config=CONSTANTS)
class BackendFacts:
    """The `devices` and `precisions` that a backend has, and the `framework` whose steps it runs."""

    devices: Annotated[Names, SOME]
    precisions: Annotated[Names, SOME]
    framework: str


class Declared(dict[str, Facts]):
    """The facts of what can be used, by name.

    `broken` has the error that says why something cannot be used; `replaced`, files of a study that define something of
    respeed's, by name.
    """

    def __init__(self) -> None:
        super().__init__()
        self.broken: dict[str, UserError] = {}
        self.replaced: dict[str, Path] = {}

    def add(self, name: str, read: Callable[..., Facts], *arguments: Any) -> None:
        """Call `read`, and add the facts that it returns, or the error that it raises."""
        try:
            self[name] = read(*arguments)
        except UserError as error:
            self.broken[name] = error


@functools.cache
def backends() -> Declared[BackendFacts]:
    """Return the facts of all backends, by name."""
    declared = Declared[BackendFacts]()
    for path in sorted(BACKENDS.glob("[!_]*.py")):
        declared.add(path.stem, read_backend, path)
    return declared


@functools.cache
def workloads() -> Declared[WorkloadFacts]:
    """Return the facts of all workloads, by name.

    A workload is a public class that is decorated as one, or has any of METHODS or inherits one. A study's own comes
    before respeed's of the same name. A file that is not Python is listed under the file's name.
    """
    declared = Declared[WorkloadFacts]()
    homes: dict[str, Path] = {}
    for path in files_of_workloads():
        try:
            classes = _classes(path)
        except UserError as error:
            declared.broken[path.stem] = error
            continue
        for name in classes:
            methods = {getattr(statement, "name", "") for statement in _body(name, classes)}
            workload = re.sub("(?<!^)(?=[A-Z])", "_", name).lower()
            is_decorated = "workload" in [getattr(node, "id", "") for node in classes[name].decorator_list]
            if name.startswith("_") or not (is_decorated or methods & {*METHODS}):
                continue
            home = homes.setdefault(workload, path)
            if home == path:
                declared.add(workload, read_workload, path, name)
            elif home.parent == path.parent:
                line = f"{from_here(path)}: the workload {workload} is in {home.name} as well; leave one of them out"
                declared.broken[workload] = UserError(line)
            else:
                declared.replaced[workload] = home
    return declared


def files_of_workloads() -> list[Path]:
    """Return the files that may define workloads: those of a study, and then respeed's."""
    files = []
    for folder in folders_of("workloads"):
        files += sorted(folder.glob("[!_]*.py"))
    return files


def broken_files() -> list[str]:
    """Return a line for each mistake in workloads and backends that cannot be used."""
    lines = []
    for error in (*workloads().broken.values(), *backends().broken.values()):
        lines += error.lines
    return lines


def why_unusable(kind: Literal["workload", "backend"], name: str) -> str | None:
    """Return why the workload or backend of that name cannot be used; None if it can."""
    declared: Declared[Any] = workloads() if kind == "workload" else backends()
    if name in declared.broken:
        return f"the {kind} {name} cannot be used: {declared.broken[name]}"
    for line in unknown(f"no {kind}", name, declared):
        return line
    return None


def _check_backend(name: str) -> str:
    if reason := why_unusable("backend", name):
        raise ValueError(reason)
    return name


BackendName = Annotated[str, AfterValidator(_check_backend)]


def backends_of(workload: str) -> Names:
    """Return the backends that the workload runs on; none if there is no such workload."""
    return workloads()[workload].backends if workload in workloads() else ()


def runs(workload: str, backend: str, precision: str) -> bool:
    """Return whether the workload runs on the backend in the precision."""
    return why_not_run(workload, backend, precision) is None


def why_not_run(workload: str, backend: str, precision: str) -> str | None:
    """Return why the workload does not run on the backend in the precision; None if it does."""
    facts = workloads()[workload]
    if backend not in facts.backends:
        return f"{workload} does not run on {backend}"
    if facts.precisions and precision not in facts.precisions:
        return f"{workload} runs in {', '.join(facts.precisions)} alone"
    return None


# Reading.


def read_backend(path: Path) -> BackendFacts:
    """Return the facts of the backend in a file; raise UserError if the backend cannot be used."""
    body = _parse(path).body
    constants = _literals(path, body, ("DEVICES", "PRECISIONS", "FRAMEWORK"))
    facts = fit(BackendFacts, {"FRAMEWORK": path.stem} | constants, path)
    if "Backend" not in [getattr(statement, "name", "") for statement in body]:
        raise UserError(f"{from_here(path)}: has no function or class Backend")
    return facts


def read_workload(path: Path, of_class: str) -> WorkloadFacts:
    """Return the facts of the workload that a class of a file defines.

    The fields of the class are the parameters of a case; a field without a default is required. Members that the class
    inherits from classes before it in the file count as its own.

    Raises
    ------
    UserError
        A line for each reason why the workload cannot be used.
    """
    body = _body(of_class, _classes(path))
    fields = {}
    for statement in body:
        match statement:
            case ast.AnnAssign(ast.Name(name), annotation, default) if "ClassVar" not in ast.dump(annotation):
                fields[name] = ("options" if default else "parameters", _kind(path, name, annotation))
    functions = [statement for statement in body if isinstance(statement, ast.FunctionDef)]
    methods = tuple(function.name for function in functions)
    data = _literals(path, body, VARIABLES)
    data |= {"file": path, "methods": methods, "parameters": {}, "options": {}}
    for name, (group, kind) in fields.items():
        data[group][name] = kind
    facts = fit(WorkloadFacts, data, path)
    start = f"{from_here(path)}: {of_class} has no"
    lines = [f"{start} method {name}" for name in METHODS if name not in facts.methods]
    frameworks = sorted({backend.framework for backend in backends().values()})
    if not any(map(facts.has_step_for, frameworks)):
        lines.append(f"{start} step: write a method {' or '.join([*frameworks, 'step'])}")
    if lines:
        raise UserError(*lines)
    return facts


def _kind(path: Path, name: str, annotation: ast.expr) -> Any:
    """Return the kind of a field: "whole" for int, "real" for float, the texts of a Literal, "any" for a dict."""
    match annotation:
        case ast.Name("int"):
            return "whole"
        case ast.Name("float"):
            return "real"
        case ast.Subscript(ast.Name("Literal"), texts):
            allowed = _literal(path, name, texts)
            if not isinstance(allowed, tuple):
                allowed = (allowed,)
            return tuple(filter(None, allowed))
        case ast.Subscript(ast.Name("dict")):
            return "any"
    raise UserError(f"{from_here(path)}:{annotation.lineno}: {name}: must be int, float or Literal[...]")


def _body(name: str, classes: Mapping[str, ast.ClassDef]) -> list[ast.stmt]:
    """Return the statements of a class, after the statements of those base classes that the file defines earlier."""
    node = classes[name]
    body = node.body
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes and classes[base.id].lineno < node.lineno:
            body = _body(base.id, classes) + body
    return body


def _literals(path: Path, body: Iterable[ast.stmt], names: Collection[str]) -> dict[str, Any]:
    """Return the values that a body assigns to the given names; a name without a value is left out."""
    nodes = {}
    for statement in body:
        match statement:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, ast.expr() as value):
                if name in names:
                    nodes[name] = value
    return {name: _literal(path, name, node) for name, node in nodes.items()}


def _literal(path: Path, name: str, node: ast.expr) -> Any:
    """Return the value of an expression; raise UserError if it is not a literal."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        where = f"{from_here(path)}:{node.lineno}: {name}"
        raise UserError(f"{where} must be written out, without calls: the file is read, not run") from None


@functools.cache
def _parse(path: Path) -> ast.Module:
    text = read_text(path, MAX_BYTES)
    try:
        return ast.parse(text, path.name)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise UserError(f"{from_here(path)}: is not Python: {error or 'it is nested too deeply'}") from None


def _classes(path: Path) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in _parse(path).body if isinstance(node, ast.ClassDef)}
