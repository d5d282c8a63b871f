"""The workloads and backends that there are, and what each says of itself in its file.

A file is read, not run. To import all of them takes some forty times as long, for torch and Numba, and would run what
somebody dropped in whenever any file is checked: one that ends the process, or waits, would stop everybody. So what is
read are literals; a broken file stops only what names it.
"""

import ast
import functools
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass as model

from respeed.errors import UserError
from respeed.inputs.files import from_here, read_text
from respeed.inputs.forms import fit
from respeed.model.fields import SOME, check_known
from respeed.paths import BACKENDS, WORKLOADS

MAX_BYTES = 1_000_000
# A constant of a backend is a field in capitals; a file has others, too.
CONSTANTS = ConfigDict(alias_generator=str.upper, validate_by_name=True, validate_by_alias=True)
# What a field of a workload may be, and how a case gives it.
_KINDS = {"int": "whole", "float": "real"}

Names = tuple[str, ...]
Kinds = dict[str, Literal["whole", "real", "any"] | Names]
Facts = TypeVar("Facts")


@model(frozen=True)
class WorkloadFacts:
    """What a workload says of itself.

    Attributes
    ----------
    parameters, options : mapping
        What a case must give, and what it may leave out: "whole", "real", "any", or the texts that it may be.
    tests : mapping
        The parameters of its test cases smoke, odd and large.
    methods : tuple of str
        The names of its methods, among them the frameworks that it has a step for.
    backends, precisions : tuple of str
        Those that it runs on and in.
    products, allocates : bool
        Whether matrix products decide its result, and whether a step must allocate arrays.
    """

    parameters: Kinds
    tests: Annotated[dict[str, dict[str, Any]], SOME]
    options: Kinds = Field(default_factory=dict)
    methods: Names = ()
    frameworks: Names = ()
    backends: Names = ()
    precisions: Names = ()
    products: bool = True
    allocates: bool = False

    @property
    def takes(self) -> Kinds:
        """Return what a case may give."""
        return self.parameters | self.options

    def has_step_for(self, framework: str) -> bool:
        """Return whether it has a step, or its parts, in a framework."""
        if self.frameworks and framework not in self.frameworks:
            return False
        return any(
            name in {framework, f"steps_{framework}"} or name.startswith(f"{framework}_") for name in self.methods
        )


@model(frozen=True, config=CONSTANTS)
class BackendFacts:
    """The `devices` and `precisions` that a backend has, and the `framework` whose steps it runs: its own name if it
    does not say."""

    devices: Annotated[Names, SOME]
    precisions: Annotated[Names, SOME]
    framework: str = ""


@functools.cache
def backends() -> dict[str, BackendFacts]:
    """Return all backends that can be used."""
    return {name: replace(facts, framework=facts.framework or name) for name, facts in read_backends()[0].items()}


@functools.cache
def workloads() -> dict[str, WorkloadFacts]:
    """Return all workloads that can be used, with the backends and precisions that they leave open: all that do."""
    every = tuple(dict.fromkeys(name for backend in backends().values() for name in backend.precisions))
    return {
        name: replace(
            facts,
            precisions=facts.precisions or every,
            backends=tuple(one for one, backend in backends().items() if facts.has_step_for(backend.framework)),
        )
        for name, facts in read_workloads()[0].items()
    }


def broken_files() -> list[str]:
    """Return a line for each file of a workload or a backend that cannot be used."""
    return [*read_workloads()[1].values(), *read_backends()[1].values()]


def _check(kind: str, usable: Mapping[str, Any], broken: Mapping[str, str], name: str) -> str:
    if name in broken:
        raise ValueError(f"the {kind} {name} cannot be used: {broken[name]}")
    check_known(kind, name, usable)
    return name


def _is_backend(name: str) -> str:
    return _check("backend", *read_backends(), name)


def _is_workload(name: str) -> str:
    return _check("workload", *read_workloads(), name)


BackendName = Annotated[str, AfterValidator(_is_backend)]
WorkloadName = Annotated[str, AfterValidator(_is_workload)]


def backends_of(workload: str) -> tuple[str, ...]:
    """Return the backends that the workload runs on; none of one that is not there."""
    return workloads()[workload].backends if workload in workloads() else ()


def runs(workload: str, backend: str, precision: str) -> bool:
    """Return whether the workload runs on the backend in the precision."""
    return why_not_run(workload, backend, precision) is None


def why_not_run(workload: str, backend: str, precision: str) -> str | None:
    """Return why the workload does not run on the backend in the precision; None if it does."""
    facts = workloads()[workload]
    if backend not in facts.backends:
        return f"{workload} does not run on {backend}"
    if precision not in facts.precisions:
        return f"{workload} runs in {', '.join(facts.precisions)} alone"
    return None


@functools.cache
def read_backends() -> tuple[dict[str, BackendFacts], dict[str, str]]:
    """Return what backends say of themselves, by name, and for each that cannot be used why not."""
    return _read_all({path.stem: (path, read_backend) for path in BACKENDS.glob("[!_]*.py")})


@functools.cache
def read_workloads() -> tuple[dict[str, WorkloadFacts], dict[str, str]]:
    """Return what workloads say of themselves, by name, and for each that cannot be used why not.

    A file that cannot be read stands there under its own name.
    """
    places: dict[str, tuple[Path, Callable[[Path], WorkloadFacts]]] = {}
    for path in WORKLOADS.glob("[!_]*.py"):
        try:
            classes = _classes(path)
        except UserError:
            places[path.stem] = path, partial(read_workload, of_class="")
            continue
        for name, node in classes.items():
            if "tests" in _class_body(node, classes)[1]:
                places[_snake(name)] = path, partial(read_workload, of_class=name)
    return _read_all(places)


def _read_all(places: Mapping[str, tuple[Path, Callable[[Path], Facts]]]) -> tuple[dict[str, Facts], dict[str, str]]:
    usable: dict[str, Facts] = {}
    broken: dict[str, str] = {}
    for name, (path, read) in sorted(places.items()):
        try:
            usable[name] = read(path)
        except UserError as error:
            broken[name] = str(error)
    return usable, broken


def _snake(name: str) -> str:
    return re.sub("(?<!^)(?=[A-Z])", "_", name).lower()


def read_backend(path: Path) -> BackendFacts:
    """Return what a backend says of itself; UserError, a line, if it cannot be used."""
    known, found = {"DEVICES", "PRECISIONS", "FRAMEWORK"}, _assigned(_parse(path).body)
    constants = {name: _literal(path, name, found[name]) for name in known & {*found}}
    facts: BackendFacts = fit(BackendFacts, constants, path)
    return facts


def read_workload(path: Path, of_class: str) -> WorkloadFacts:
    """Return what a class of the file says of itself; UserError, a line, if it cannot be used.

    Its fields are the parameters of a case: those without a default must be given. What it inherits of other classes of
    the file is its own.
    """
    classes = _classes(path)
    if of_class not in classes:
        raise UserError(f"{from_here(path)}: there is no class {of_class}")
    fields, constants, methods = _class_body(classes[of_class], classes)
    taken = {"tests", "frameworks", "precisions", "products", "allocates"} & {*constants}
    said = {name: _literal(path, name, constants[name]) for name in taken}
    kinds = {name: _kind(path, name, annotation) for name, (annotation, _) in fields.items()}
    said["parameters"] = {name: kind for name, kind in kinds.items() if not fields[name][1]}
    said["options"] = {name: kind for name, kind in kinds.items() if fields[name][1]}
    facts: WorkloadFacts = fit(WorkloadFacts, said | {"methods": tuple(methods)}, path)
    return facts


def _kind(path: Path, name: str, annotation: ast.expr) -> Any:
    """Return how a case gives a field."""
    match annotation:
        case ast.Name("int" | "float" as kind):
            return _KINDS[kind]
        case ast.Subscript(ast.Name("Literal"), texts):
            allowed = _literal(path, name, texts)
            return tuple(filter(None, allowed if isinstance(allowed, tuple) else (allowed,)))
        case ast.Subscript(ast.Name("dict")):
            return "any"
    raise UserError(f"{from_here(path)}:{annotation.lineno}: {name}: must be int, float or Literal[...]")


Body = tuple[dict[str, tuple[ast.expr, bool]], dict[str, ast.expr], set[str]]


def _class_body(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> Body:
    """Return the fields of a class, each with whether it has a default, its class variables, and its methods' names."""
    fields, constants, methods = dict[str, tuple[ast.expr, bool]](), dict[str, ast.expr](), set[str]()
    for base in reversed(node.bases):
        if isinstance(base, ast.Name) and base.id in classes and classes[base.id] is not node:
            theirs = _class_body(classes[base.id], classes)
            fields, constants, methods = fields | theirs[0], constants | theirs[1], methods | theirs[2]
    for statement in node.body:
        match statement:
            case ast.FunctionDef(name):
                methods.add(name)
            case ast.AnnAssign(ast.Name(name), annotation, value) if "ClassVar" in ast.dump(annotation):
                if value is not None:
                    constants[name] = value
            case ast.AnnAssign(ast.Name(name), annotation, value):
                fields[name] = annotation, value is not None
    return fields, constants | _assigned(node.body, plain=True), methods


def _literal(path: Path, name: str, node: ast.expr) -> Any:
    """Return the value of an expression; UserError if it is no literal."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        where = f"{from_here(path)}:{node.lineno}: {name}"
        raise UserError(f"{where} must be written out, without calls: the file is read, and not run") from None


@functools.cache
def _parse(path: Path) -> ast.Module:
    text = read_text(path, MAX_BYTES)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those are for whoever runs the file
            return ast.parse(text, path.name)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise UserError(f"{from_here(path)}: is not Python: {error or 'it is nested too deeply'}") from None


def _classes(path: Path) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in _parse(path).body if isinstance(node, ast.ClassDef)}


def _assigned(body: list[ast.stmt], *, plain: bool = False) -> dict[str, ast.expr]:
    """Return what is assigned to names; if `plain`, without annotations."""
    found = {}
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(name)], value=value):
                found[name] = value
            case ast.AnnAssign(target=ast.Name(name), value=value) if value is not None and not plain:
                found[name] = value
    return found
