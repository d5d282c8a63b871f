"""The workloads and backends that there are, and what each says of itself in constants of its file.

A file is read, not run. To import all of them takes some forty times as long, for torch and Numba, and would run what
somebody dropped in whenever any file is checked: one that ends the process, or waits, would stop everybody. So these
constants are literals; a broken file stops only what names it. A file that holds several of them (FAMILIES of the
folder's `__init__.py`) has a class for each, and the file's own constants hold for all that do not say otherwise.
"""

import ast
import dataclasses
import functools
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass

from respeed.errors import UserError
from respeed.inputs.files import from_here, read_text
from respeed.inputs.forms import fit
from respeed.model.fields import SOME, check_known
from respeed.paths import BACKENDS, WORKLOADS, class_name

MAX_BYTES = 1_000_000
# A constant is a field in capitals; a file has others, too.
CONSTANTS = ConfigDict(alias_generator=str.upper, validate_by_name=True, validate_by_alias=True)

Names = tuple[str, ...]
Kinds = dict[str, Literal["whole", "real", "any"] | Names]


@dataclass(frozen=True, config=CONSTANTS)
class WorkloadFacts:
    """PARAMETERS that a case must give, each "whole", "real" or the texts that it may be, and OPTIONS, which it may
    leave out; TESTS, the parameters of its test cases smoke, odd and large; and, as `workloads` gives them, the
    `backends` and `precisions` that it runs on and in, what it `asks` of a backend beyond what every one has, the
    precisions in which a step `allocates`, and whether a step has matrix `products`."""

    parameters: Annotated[Kinds, SOME]
    tests: dict[str, Any]
    options: Kinds = Field(default_factory=dict)
    asks: Names = ()
    backends: Names = ()
    precisions: Names = ()
    allocates: bool | Names = ()
    products: bool = True

    @property
    def takes(self) -> Kinds:
        """Return what a case may give."""
        return self.parameters | self.options


@dataclass(frozen=True, config=CONSTANTS)
class BackendFacts:
    """The `devices` and `precisions` that a backend has, what it `offers` to workloads, what every one must have
    included, the BLAS, by its name in `machine.software`, that SciPy must compute with, if any, and the workloads that
    it `runs`, if not all that it could."""

    devices: Annotated[Names, SOME]
    precisions: Annotated[Names, SOME]
    offers: Names = ()
    library: str | None = None
    runs: Names = ()


@functools.cache
def backends() -> dict[str, BackendFacts]:
    """Return all backends that can be used."""
    required, usable = _literal(BACKENDS / "__init__.py", "REQUIRED"), read_folder(BACKENDS)[0]
    return {name: dataclasses.replace(facts, offers=(*required, *facts.offers)) for name, facts in usable.items()}


@functools.cache
def workloads() -> dict[str, WorkloadFacts]:
    """Return all workloads that can be used."""
    return {name: _resolve(name, facts) for name, facts in read_folder(WORKLOADS)[0].items()}


def _resolve(workload: str, facts: WorkloadFacts) -> WorkloadFacts:
    """Fill in the backends, precisions and allocations that the workload leaves open: all that would do."""
    every = tuple(dict.fromkeys(name for backend in backends().values() for name in backend.precisions))
    precisions = facts.precisions or every
    offering = [
        name
        for name, backend in backends().items()
        if set(facts.asks) <= set(backend.offers) and workload in (backend.runs or [workload])
    ]
    return dataclasses.replace(
        facts,
        precisions=precisions,
        backends=tuple(name for name in facts.backends or offering if name in offering),
        allocates=(precisions if facts.allocates else ()) if isinstance(facts.allocates, bool) else facts.allocates,
    )


def broken_files() -> list[str]:
    """Return a line for each file of a workload or a backend that cannot be used."""
    return [*read_folder(WORKLOADS)[1].values(), *read_folder(BACKENDS)[1].values()]


def _check(kind: str, folder: Path, name: str) -> str:
    usable, broken = read_folder(folder)
    if name in broken:
        raise ValueError(f"the {kind} {name} cannot be used: {broken[name]}")
    check_known(kind, name, usable)
    return name


BackendName = Annotated[str, AfterValidator(functools.partial(_check, "backend", BACKENDS))]
WorkloadName = Annotated[str, AfterValidator(functools.partial(_check, "workload", WORKLOADS))]


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
def read_folder(folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what the files of a folder say of themselves, by name, and for each that cannot be used why not."""
    usable: dict[str, Any] = {}
    broken: dict[str, str] = {}
    families = _literal(folder / "__init__.py", "FAMILIES")
    places = {path.stem: (path, "") for path in folder.glob("[!_]*.py") if path.stem not in families}
    places |= {name: (folder / f"{file}.py", class_name(name)) for file, names in families.items() for name in names}
    for name, (path, of_class) in sorted(places.items()):
        try:
            usable[name] = read_facts(path, WorkloadFacts if folder == WORKLOADS else BackendFacts, of_class)
        except UserError as error:
            broken[name] = str(error)
    return usable, broken


def read_facts(path: Path, form: type[Any], of_class: str = "") -> Any:
    """Return what the file, or one of its classes, says of itself; UserError, a line, if it cannot be used."""
    names = {field.name.upper() for field in dataclasses.fields(form)}
    constants = {name: _literal(path, name, of_class) for name in names & {*_assigned(path, of_class)}}
    return fit(form, constants, path)


def _literal(path: Path, name: str, of_class: str = "") -> Any:
    """Return the value of the constant; UserError if the file or the value cannot be read."""
    node = _assigned(path, of_class)[name]
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        where = f"{from_here(path)}:{node.lineno}: {name}"
        raise UserError(f"{where} must be written out, without calls: the file is read, and not run") from None


@functools.cache
def _assigned(path: Path, of_class: str) -> Mapping[str, ast.expr]:
    """Return what the file assigns to names at its top level, and then what its class does."""
    text, found = read_text(path, MAX_BYTES), dict[str, ast.expr]()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those are for whoever runs the file
            tree = ast.parse(text, path.name)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise UserError(f"{from_here(path)}: is not Python: {error or 'it is nested too deeply'}") from None
    of = [one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == of_class]
    for statement in [*tree.body, *(inner for one in of for inner in one.body)]:
        match statement:
            case ast.Assign(targets=[ast.Name(name)], value=value) | ast.AnnAssign(target=ast.Name(name), value=value):
                if value is not None:
                    found[name] = value
    return found
