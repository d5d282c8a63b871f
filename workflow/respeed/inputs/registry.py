"""The workloads and backends that there are, and what each says of itself in constants of its file.

A file is read, not run. To import all of them takes some forty times as long, for torch and Numba, and would run what
somebody dropped in whenever any file is checked: one that ends the process, or waits, would stop everybody. So these
constants are literals; a broken file stops only what names it. A file that holds several of them (FAMILIES of the
folder's `__init__.py`) has a class for each, and the file's own constants hold for all that do not say otherwise.
"""

import ast
import dataclasses
import functools
import keyword
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, StrictBool, StrictStr

from respeed.errors import UserError
from respeed.inputs.files import from_here, read_text
from respeed.inputs.forms import fit, require
from respeed.model.validation import SOME, Says, form
from respeed.paths import BACKENDS, WORKLOADS, class_name
from respeed.text import is_unprintable

MAX_BYTES = 1_000_000


def _check_name(name: str) -> str:
    if not name or any(map(is_unprintable, name)):
        raise ValueError
    return name


NAMES = Says('names such as ("one", "two")')
Name = Annotated[StrictStr, AfterValidator(_check_name)]
Names = Annotated[tuple[Name, ...], NAMES]
SomeNames = Annotated[tuple[Name, ...], SOME, NAMES]
Kinds = dict[Name, Literal["whole", "real", "any"] | tuple[Name, ...]]
KINDS = Says('a mapping such as {"visible": "whole", "learning_rate": "real"}')


@form("constants")
class WorkloadFacts:
    """PARAMETERS that a case must give, each "whole", "real" or the texts that it may be, and OPTIONS, which it may
    leave out; TESTS, the parameters of its test cases smoke, odd and large; and, as `workloads` gives them, the
    `backends` and `precisions` that it runs on and in, what it `asks` of a backend beyond what every one has, the
    precisions in which a step `allocates`, and whether a step has matrix `products`."""

    parameters: Annotated[Kinds, SOME, KINDS]
    tests: Annotated[dict[str, Any], Says('a mapping of "smoke", "odd" and "large" to parameters')]
    options: Annotated[Kinds, KINDS] = dataclasses.field(default_factory=dict)
    asks: Names = ()
    backends: Names = ()
    precisions: Names = ()
    allocates: Annotated[StrictBool | tuple[Name, ...], Says("True, or names of precisions")] = ()
    products: Annotated[StrictBool, Says("True or False")] = True

    @property
    def takes(self) -> Kinds:
        """What a case may give."""
        return self.parameters | self.options


@form("constants")
class BackendFacts:
    """The `devices` and `precisions` that a backend has, what it `offers` to workloads, what every one must have
    included, the BLAS, by its name in `machine.software`, that SciPy must compute with, if any, and the workloads that
    it `runs`, if not all that it could."""

    devices: SomeNames
    precisions: SomeNames
    offers: Names = ()
    library: Annotated[Name, Says('a name such as "openblas"')] | None = None
    runs: Names = ()


@functools.cache
def backends() -> dict[str, BackendFacts]:
    """All backends that can be used."""
    required, usable = _constant(BACKENDS / "__init__.py", "REQUIRED"), _read(BACKENDS)[0]
    return {name: dataclasses.replace(facts, offers=(*required, *facts.offers)) for name, facts in usable.items()}


@functools.cache
def workloads() -> dict[str, WorkloadFacts]:
    """All workloads that can be used."""
    return {name: _resolved(name, facts) for name, facts in _read(WORKLOADS)[0].items()}


def _resolved(workload: str, facts: WorkloadFacts) -> WorkloadFacts:
    """With the backends, precisions and allocations that it leaves open: all that would do."""
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
    """A line for each file of a workload or a backend that cannot be used."""
    return [*_read(WORKLOADS)[1].values(), *_read(BACKENDS)[1].values()]


def find_workload(name: str, where: str) -> WorkloadFacts:
    """The workload that `where` names; UserError if there is none of that name or it cannot be used."""
    _check("workload", name, where, WORKLOADS)
    return workloads()[name]


def find_backend(name: str, where: str) -> BackendFacts:
    """The backend that `where` names; UserError if there is none of that name or it cannot be used."""
    _check("backend", name, where, BACKENDS)
    return backends()[name]


def _check(kind: str, name: str, where: str, folder: Path) -> None:
    usable, broken = _read(folder)
    if name in broken:
        raise UserError(f"{where}: the {kind} {name} cannot be used: {broken[name]}")
    require(f"{where}: no {kind}", name, usable)


def backends_of(workload: str) -> tuple[str, ...]:
    """The backends that the workload runs on; none of one that is not there."""
    return workloads()[workload].backends if workload in workloads() else ()


def runs(workload: str, backend: str, precision: str) -> bool:
    """Whether the workload runs on the backend in the precision."""
    return why_not_run(workload, backend, precision) is None


def why_not_run(workload: str, backend: str, precision: str) -> str | None:
    """Why the workload does not run on the backend in the precision; None if it does."""
    facts = workloads()[workload]
    if backend not in facts.backends:
        return f"{workload} does not run on {backend}"
    if precision not in facts.precisions:
        return f"{workload} runs in {', '.join(facts.precisions)} alone"
    return None


@functools.cache
def _read(folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """What the files of workloads, or of backends, say of themselves, by name; and of those that cannot be used a line
    that says why."""
    usable, broken = {}, {}
    families = _constant(folder / "__init__.py", "FAMILIES")
    places = {name: (folder / f"{file}.py", class_name(name)) for file, names in families.items() for name in names}
    for path in sorted(folder.glob("[!_]*.py")):
        if path.stem not in families and path.stem in places:
            family = from_here(places.pop(path.stem)[0])
            broken[path.stem] = f"{from_here(path)}: {family} has one of this name; take another"
        elif path.stem not in families:
            places[path.stem] = path, ""
    for name, (path, of_class) in sorted(places.items()):
        try:
            usable[name] = read_facts(path, WorkloadFacts if folder == WORKLOADS else BackendFacts, of_class)
        except UserError as error:
            broken[name] = str(error)
    return usable, broken


def read_facts(path: Path, facts: type[Any], of_class: str = "") -> Any:
    """What the file, or one of its classes, says of itself; UserError, a line with the place, if it cannot be used."""
    shown = from_here(path)
    if not path.stem.isidentifier() or keyword.iskeyword(path.stem):
        raise UserError(f"{shown}: no Python file that can be imported; name it with small letters, digits and _")
    assigned, constants = _assigned(path, of_class), {}
    for field in dataclasses.fields(facts):
        if field.name.upper() in assigned:
            constants[field.name] = _constant(path, field.name.upper(), of_class)
        elif field.default is field.default_factory is dataclasses.MISSING:
            says: Any = field.type
            raise UserError(f"{shown}: has no {field.name.upper()}; write {says.__metadata__[-1].words}")
    found, misfits = fit(facts, constants, path)
    for place, line in misfits:
        name = str(place[0]).upper()
        raise UserError(line.replace(f"{shown}: {place[0]}", f"{shown}:{assigned[name].lineno}: {name}", 1))
    return found


def _constant(path: Path, name: str, of_class: str = "") -> Any:
    """The value of the constant; UserError if the file or the value cannot be read."""
    node = _assigned(path, of_class)[name]
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise UserError(
            f"{from_here(path)}:{node.lineno}: {name} must be written out, without calls: the file is read, and not run"
        ) from None


@functools.cache
def _assigned(path: Path, of_class: str) -> dict[str, ast.expr]:
    """What the file assigns to names at its top level, and then what its class does."""
    text, found = read_text(path, MAX_BYTES), {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those are for whoever runs the file
            tree = ast.parse(text)
    except SyntaxError as error:
        raise UserError(f"{from_here(path)}:{error.lineno or 1}: is not Python: {error.msg}") from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise UserError(f"{from_here(path)}: is not Python: {error or 'is nested too deeply'}") from None
    of = [one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == of_class]
    for statement in [*tree.body, *(inner for one in of for inner in one.body)]:
        match statement:
            case ast.Assign(targets=[ast.Name(name)], value=value) | ast.AnnAssign(target=ast.Name(name), value=value):
                if value is not None:
                    found[name] = value
    return found
