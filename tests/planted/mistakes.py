"""Mistakes to plant into the package, found by the syntax of the code: no format matters, and no change elsewhere.

A file of mistakes has lines such as

    @ analysis/cells.py
    _judge: 2 * unsettled > len(timed) -> unsettled > len(timed)

In that file's function `_judge`, the left side becomes the right one. It is an expression, a keyword argument
(`key=value`), or statements with `;` between them; blanks, line breaks and quotes do not matter. It stands there once,
or `left #2 -> right` says which of several. A method is `Class.method`; a constant or a field has a name too, and `*`
is the whole file. A function that moved to another file is found there. `@ FILE: TEST ...` says which tests catch the
mistakes that follow; without, those that run the lines look for them.
"""

import ast
import difflib
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = Path(__file__).resolve().parents[2] / "workflow/respeed"
WHOLE_FILE = "*"


class Mistake(NamedTuple):
    """In `function` of a file, `old` becomes `new`; `number` says which `old` of several, `tests` what catches it."""

    file: str
    function: str
    old: str
    new: str
    number: int = 0
    tests: tuple[str, ...] = ()

    def __str__(self) -> str:
        number = f" #{self.number}" if self.number else ""
        return f"{self.file} {self.function}: {self.old}{number} -> {self.new}"


class Spot(NamedTuple):
    """Nodes of a tree: the way from its root to their parent, the parent's field, and where they are in its list."""

    way: tuple[ast.AST, ...]
    field: str
    first: int | None = None
    count: int = 1

    @property
    def nodes(self) -> list[Any]:
        value = getattr(self.way[-1], self.field)
        return [value] if self.first is None else value[self.first : self.first + self.count]

    def put(self, nodes: Sequence[ast.AST]) -> "Spot":
        """Put other nodes here; return the spot that they have."""
        if self.first is None:
            setattr(self.way[-1], self.field, nodes[0])
        else:
            getattr(self.way[-1], self.field)[self.first : self.first + self.count] = nodes
        return self._replace(count=len(nodes))


def read_mistakes(name: str) -> list[Mistake]:
    """Read a file of mistakes that lies here. A line that begins with # is a comment."""
    mistakes, file, tests = [], "", ()
    for line in Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("@ "):
            file, _, named = line[2:].partition(":")
            tests = tuple(named.split())
        elif line and not line.startswith("#"):
            found = re.fullmatch(r"(\S+): (.+?)(?: #(\d+))? -> (.+)", line)
            assert found, f"{name}: not FUNCTION: OLD -> NEW: {line}"
            function, old, number, new = found.groups()
            mistakes.append(Mistake(file, function, old, new, int(number or 0), tests))
    return mistakes


@cache
def text_of(node: ast.AST) -> str:
    """Write a node as a pattern of it would be written: a keyword argument as an assignment."""
    if isinstance(node, ast.keyword):
        return f"{node.arg} = {ast.unparse(node.value)}"
    return ast.unparse(node) if isinstance(node, ast.expr | ast.stmt) else ""


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


def definitions(way: tuple[ast.AST, ...], prefix: str = "") -> Iterator[tuple[str, tuple[ast.AST, ...]]]:
    """Yield each function, class, constant and field below, by its qualified name, with the way to it."""
    is_local = any(isinstance(node, ast.FunctionDef) for node in way)
    for node in ast.iter_child_nodes(way[-1]):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield prefix + name, (*way, node)
                yield from definitions((*way, node), f"{prefix}{name}.")
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if not is_local:
                yield prefix + name, (*way, node)
            case ast.stmt() | ast.ExceptHandler():
                yield from definitions((*way, node), prefix)


@cache
def ways_in(path: Path) -> dict[str, list[tuple[ast.AST, ...]]]:
    """Return the ways to what has a name in a file, by the name: several where one is defined anew."""
    root, ways = (parse(path),), defaultdict[str, list[tuple[ast.AST, ...]]](list)
    ways[WHOLE_FILE].append(root)
    for name, way in definitions(root):
        ways[name].append(way)
    return dict(ways)


def spots_below(way: tuple[ast.AST, ...]) -> Iterator[Spot]:
    """Yield the spot of every single node below."""
    for field, value in ast.iter_fields(way[-1]):
        if isinstance(value, list):
            spots = [Spot(way, field, place) for place, node in enumerate(value) if isinstance(node, ast.AST)]
        else:
            spots = [Spot(way, field)] if isinstance(value, ast.AST) else []
        for spot in spots:
            yield spot
            yield from spots_below((*way, *spot.nodes))


def spots_of(old: str, way: tuple[ast.AST, ...]) -> list[Spot]:
    """Return where a pattern is below. An expression that is a statement counts as the statement."""
    texts, found = [ast.unparse(node) for node in ast.parse(old).body], []
    for spot in spots_below(way):
        fits = spot if len(texts) == 1 else spot._replace(count=len(texts))
        is_run = len(texts) == 1 or (spot.first is not None and isinstance(spot.nodes[0], ast.stmt))
        if is_run and not isinstance(spot.way[-1], ast.Expr) and [text_of(node) for node in fits.nodes] == texts:
            found.append(fits)
    return found


def find(mistake: Mistake) -> tuple[Path, Spot]:
    """Find the file and the spot of a mistake; raise LookupError, which says in a line why there is none."""
    path, function = PACKAGE / mistake.file, mistake.function
    if not path.exists() or function not in ways_in(path):
        others = [other for other in PACKAGE.rglob("*.py") if function in ways_in(other) and function != WHOLE_FILE]
        if len(others) != 1:
            raise LookupError(f"{mistake.file} has no {function} now{_nearest(path, function)}")
        (path,) = others
    spots = [spot for way in ways_in(path)[function] for spot in spots_of(mistake.old, way)]
    is_clear = 1 <= mistake.number <= len(spots) if mistake.number else len(spots) == 1
    if not is_clear:
        raise LookupError(f"{mistake}: the left side is there {len(spots)} times")
    return path, spots[mistake.number - 1]


def _nearest(path: Path, function: str) -> str:
    names = ways_in(path) if path.exists() else ()
    return "".join(f": is it {name}?" for name in difflib.get_close_matches(function, names, n=1))


def nodes_for(spot: Spot, new: str) -> list[ast.AST]:
    """Parse what a spot becomes: an expression, a keyword argument or statements, as what it is now."""
    (old, *_), body = spot.nodes, ast.parse(new).body
    match old, body:
        case ast.expr(), [ast.Expr(value=value)]:
            return [value]
        case ast.keyword(), [ast.Assign(targets=[ast.Name(id=name)], value=value)]:
            return [ast.keyword(name, value)]
        case ast.stmt(), _:
            return [*body]
    raise LookupError(f"{new} cannot stand in place of {text_of(old)}")


def write(path: Path, spot: Spot, nodes: Sequence[ast.AST]) -> str:
    """Return the text of a file with other nodes in a spot: the statement that holds them is written anew."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    outer, held = _lines_to_write(lines, spot)
    last = held[-1].end_lineno
    first = min([held[0].lineno, *(node.lineno for node in getattr(held[0], "decorator_list", []))])
    indent = " " * held[0].col_offset
    before = spot.nodes
    there = spot.put(nodes)
    try:
        written = there.nodes if outer is spot else outer.nodes
        text = "".join(f"{ast.unparse(ast.fix_missing_locations(node))}\n" for node in written)
    finally:
        there.put(before)
    return "".join([*lines[: first - 1], textwrap.indent(text, indent), *lines[last:]])


def _lines_to_write(lines: Sequence[str], spot: Spot) -> tuple[Spot, list[Any]]:
    """Find the innermost statements around a spot that have lines of their own."""
    outer = spot
    while True:
        nodes = outer.nodes
        if isinstance(nodes[0], ast.stmt):
            line, column = lines[nodes[0].lineno - 1], nodes[0].col_offset
            if not line[:column].strip() and not line[column:].startswith("elif"):
                return outer, nodes
        outer = next(above for above in spots_below(outer.way[:-1]) if above.nodes[0] is outer.way[-1])


def plant(mistake: Mistake) -> tuple[Path, str]:
    """Return the file of a mistake, and its text with the mistake."""
    path, spot = find(mistake)
    return path, write(path, spot, nodes_for(spot, mistake.new))
