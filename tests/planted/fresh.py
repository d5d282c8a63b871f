"""Plausible mistakes that nobody wrote down, on lines drawn at random."""

import ast
import copy
import itertools
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.planted.mistakes import (
    PACKAGE,
    Mistake,
    Spot,
    parse,
    spots_below,
    spots_of,
    text_of,
    ways_in,
)  # fmt: skip

COMPARISONS: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    ast.Lt: [ast.LtE, ast.Gt], ast.LtE: [ast.Lt, ast.Gt], ast.Gt: [ast.GtE, ast.Lt], ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.In: [ast.NotIn], ast.NotIn: [ast.In],
    ast.Is: [ast.IsNot], ast.IsNot: [ast.Is],
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
OTHER_NAMES = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "sorted": "list",
    "floor": "ceil",
    "ceil": "floor",
}
# A word that programs read, not people: a key, a name.
KEY = re.compile(r"[A-Za-z_][\w-]*")
# What is no code that does anything, or of which a mistake is only a matter of words.
PASSED_OVER = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass)
# Keyword arguments that matter only beside another mistake: lengths that differ, a write to what is never written to.
IDLE = {"strict", "slots", "frozen"}
TYPES = {"annotation", "returns", "type_comment", "type_params", "bases"}
SIMPLE = (ast.Expr, ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete, ast.Assert)


def draw(lines: Sequence[tuple[str, int]], seed: int) -> Iterator[Mistake]:
    """Yield a mistake on each line that can be wrong, in an order that the seed makes."""
    chance = random.Random(seed)
    for file, line in chance.sample(lines, len(lines)):
        found = list(mistakes_on(PACKAGE / file, line))
        if found:
            yield chance.choice(found)


def mistakes_on(path: Path, line: int) -> Iterator[Mistake]:
    """Yield what can go wrong with the code that begins on a line."""
    for spot in code_below((parse(path),)):
        if getattr(spot.nodes[0], "lineno", 0) == line:
            for nodes in variants(spot):
                mistake = name(path, spot, nodes)
                if mistake:
                    yield mistake


def code_below(way: tuple[ast.AST, ...]) -> Iterator[Spot]:
    """Yield the spots of code: neither types nor docstrings."""
    for spot in spots_below(way):
        fields = {spot.field, *_fields(spot.way)}
        parent, (node, *_) = spot.way[-1], spot.nodes
        is_text = isinstance(parent, ast.Expr) and isinstance(node, ast.Constant)
        is_text |= isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        # Only a checker of types imports what is for it alone.
        is_idle = any(isinstance(one, ast.keyword) and one.arg in IDLE for one in (node, parent))
        is_idle |= isinstance(node, ast.Name) and node.id == "TYPE_CHECKING"
        if not (fields & TYPES or is_text or is_idle or isinstance(node, PASSED_OVER)):
            yield spot


def _fields(way: Sequence[ast.AST]) -> Iterator[str]:
    """Yield by which fields a way goes down, where these matter."""
    for parent, child in itertools.pairwise(way):
        for field in TYPES & {*parent._fields}:
            value = getattr(parent, field)
            if value is child or (isinstance(value, list) and any(one is child for one in value)):
                yield field


def variants(spot: Spot) -> Iterator[list[ast.AST]]:
    """Yield what a careless hand would write in place of a node."""
    (node,) = spot.nodes
    if isinstance(node, ast.expr) and spot.field in ("test", "ifs", "guard"):
        yield from ([one] for one in (ast.UnaryOp(ast.Not(), node), ast.Constant(True), ast.Constant(False)))
    match node:
        case ast.Compare(ops=ops):
            for place, op in enumerate(ops):
                for other in COMPARISONS[type(op)]:
                    yield [_with(node, ops=[*ops[:place], other(), *ops[place + 1 :]])]
        case ast.BinOp(op=op) if type(op) in OPERATORS and not _is_text(node):
            yield [_with(node, op=OPERATORS[type(op)]())]
        case ast.AugAssign(op=op) if type(op) in OPERATORS:
            yield [_with(node, op=OPERATORS[type(op)]())]
            yield [ast.Assign([node.target], node.value)]
        case ast.BoolOp(op=op, values=values):
            yield [_with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())]
            for rest in _without_one(values):
                yield [_with(node, values=rest) if len(rest) > 1 else rest[0]]
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield [operand]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield [ast.IfExp(test, orelse, body)]
        case ast.Constant(value=value):
            yield from ([ast.Constant(other)] for other in _other_constants(value))
        case ast.Call(func=func, args=arguments, keywords=keywords):
            yield from ([_with(node, args=rest)] for rest in _without_one(arguments) if len(arguments) > 1)
            for place, keyword in enumerate(keywords):
                if keyword.arg not in IDLE:
                    yield [_with(node, keywords=[*keywords[:place], *keywords[place + 1 :]])]
            if len(arguments) > 1:
                yield [_with(node, args=[arguments[1], arguments[0], *arguments[2:]])]
            called = func.id if isinstance(func, ast.Name) else getattr(func, "attr", "")
            if called in OTHER_NAMES:
                yield [_with(node, func=_renamed(func, OTHER_NAMES[called]))]
        case ast.Slice(lower=lower, upper=upper):
            yield from ([ast.Slice(*ends)] for ends in ((None, upper), (lower, None)) if ends != (lower, upper))
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield [ast.Return(ast.Constant(None))]
            if isinstance(value, ast.Compare | ast.BoolOp):
                yield [ast.Return(ast.UnaryOp(ast.Not(), value))]
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield [ast.Pass()]
    if isinstance(node, SIMPLE):
        yield [ast.Pass()]
        if any(isinstance(above, ast.FunctionDef) for above in spot.way) and not isinstance(node, ast.Raise):
            yield [ast.Return()]


def _with(node: Any, **fields: Any) -> Any:
    other = copy.copy(node)
    for field, value in fields.items():
        setattr(other, field, value)
    return other


def _without_one(nodes: Sequence[Any]) -> Iterator[list[Any]]:
    yield from ([*nodes[:place], *nodes[place + 1 :]] for place in range(len(nodes)))


def _renamed(func: ast.expr, name: str) -> ast.expr:
    return ast.Name(name) if isinstance(func, ast.Name) else _with(func, attr=name)


def _is_text(node: ast.BinOp) -> bool:
    ends = (node.left, node.right)
    return any(isinstance(end, ast.JoinedStr) or isinstance(getattr(end, "value", None), str) for end in ends)


def _other_constants(value: object) -> Iterable[object]:
    match value:
        case bool():
            return [not value]
        case int():
            return [value + 1, value - 1]
        case float():
            return [value * 2, value / 2] if value else [1.0]
        case str() if KEY.fullmatch(value):
            return [f"{value}_"]
    return []


def name(path: Path, spot: Spot, nodes: Sequence[ast.AST]) -> Mistake | None:
    """Write a change as a mistake: as little of the code as is there once in its function, on one line."""
    function, scope = _function_of(path, spot)
    outers = [spot]
    while not isinstance(outers[-1].nodes[0], ast.stmt) and outers[-1].way[-1] is not scope[-1]:
        above = outers[-1].way
        outers.append(next(other for other in spots_below(above[:-1]) if other.nodes[0] is above[-1]))
    outers = [outer for outer in outers if text_of(outer.nodes[0])]
    olds, before = [text_of(outer.nodes[0]) for outer in outers], spot.nodes
    there = spot.put(nodes)
    try:
        news = [ast.unparse(ast.fix_missing_locations(outer.nodes[0])) for outer in outers]
        news = [text_of(ast.parse(new).body[0]) for new in news]
    except (SyntaxError, ValueError):
        return None
    finally:
        there.put(before)
    file, first = str(path.relative_to(PACKAGE)), None
    for outer, old, new in zip(outers, olds, news, strict=True):
        if old == new or re.search(r"\n| -> | #", old + new):
            continue
        try:
            spots = spots_of(old, scope)
        except SyntaxError:
            continue
        places = [number for number, other in enumerate(spots, 1) if other.nodes[0] is outer.nodes[0]]
        if len(spots) == 1 and places:
            return Mistake(file, function, old, new)
        if places and not first:
            first = Mistake(file, function, old, new, places[0])
    return first


def _function_of(path: Path, spot: Spot) -> tuple[str, tuple[ast.AST, ...]]:
    """Return the innermost function, class or constant around a spot that has a name of its own in the file."""
    around = {id(node) for node in (*spot.way, *spot.nodes)}
    defined = ((function, ways[0]) for function, ways in ways_in(path).items() if len(ways) == 1)
    return max((pair for pair in defined if id(pair[1][-1]) in around), key=lambda pair: len(pair[1]))
