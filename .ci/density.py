"""Hold how dense the package is: how much a statement has of the syntax tree, and habits that make a line hard to read.

    ./run python .ci/density.py

Lines are no measure, since lines can be packed. A number above its limit is to be made smaller, not the limit larger.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

LIMITS = {
    "nodes a statement": 7.0,
    "nodes that nine of ten simple statements do not exceed": 24,
    "assignments of several values": 0,
    "comprehensions with several loops": 0,
    "texts or lists times a condition": 0,
    "functions that read attributes of a parameter typed Any": 2,
    "names that name nothing": 32,
}
# Marks of the tree, which stand for no word of the text.
MARKS = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
# Pronouns and adverbs, which a reader cannot look for.
EMPTY_NAMES = {
    "one", "found", "mine", "here", "there", "some", "every", "kept", "own", "asked", "told", "left", "said",
    "what", "why", "made", "place", "other", "others", "which", "known", "ours", "theirs", "whole", "shown",
    "says", "instead", "apart", "this", "that", "it",
}  # fmt: skip
OF_CONDITIONS = ("is_", "has_", "may_", "can_", "was_")


def is_simple(node: ast.AST) -> bool:
    """Return whether a node is a statement that holds no others, no import and no docstring."""
    if not isinstance(node, ast.stmt) or isinstance(node, ast.Import | ast.ImportFrom):
        return False
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return not (is_docstring or hasattr(node, "body") or hasattr(node, "cases"))


def is_text_times_condition(node: ast.BinOp) -> bool:
    """Return whether a text or list is multiplied by a condition."""
    sides = (node.left, node.right)
    return any(map(is_text, sides)) and any(map(is_condition, sides))


def is_text(node: ast.expr) -> bool:
    """Return whether an expression is a text or list that is written out."""
    return isinstance(node, ast.JoinedStr | ast.List) or isinstance(getattr(node, "value", None), str)


def is_condition(node: ast.expr) -> bool:
    """Return whether an expression is a comparison, a call of bool, or named as a condition."""
    match node:
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()) | ast.Call(func=ast.Name(id="bool")):
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.startswith(OF_CONDITIONS)
    return False


def reads_any(function: ast.FunctionDef) -> bool:
    """Return whether a function reads an attribute of a parameter that is typed Any."""
    arguments = function.args.args + function.args.kwonlyargs
    loose = {arg.arg for arg in arguments if arg.annotation and ast.unparse(arg.annotation) in ("Any", "object")}
    reads = (node.value for node in ast.walk(function) if isinstance(node, ast.Attribute))
    return any(isinstance(value, ast.Name) and value.id in loose for value in reads)


def habits(node: ast.AST) -> Iterator[str]:
    """Yield the name of each habit, as in `LIMITS`, that a node shows."""
    match node:
        case ast.Assign(targets=[ast.Tuple(), *_], value=ast.Tuple()):
            yield "assignments of several values"
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() if len(node.generators) > 1:
            yield "comprehensions with several loops"
        case ast.BinOp(op=ast.Mult()) if is_text_times_condition(node):
            yield "texts or lists times a condition"
        case ast.FunctionDef() if reads_any(node):
            yield "functions that read attributes of a parameter typed Any"
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name in EMPTY_NAMES:
            yield "names that name nothing"


def main() -> int:
    """Print each number with its limit; return 1 if one is above it."""
    counts = Counter[str]()
    sizes = []
    for path in (Path(__file__).parents[1] / "workflow/respeed").rglob("*.py"):
        nodes = [node for node in ast.walk(ast.parse(path.read_bytes())) if not isinstance(node, MARKS)]
        counts["nodes"] += len(nodes)
        counts["statements"] += sum(isinstance(node, ast.stmt) for node in nodes)
        sizes += [sum(1 for _ in ast.walk(node)) for node in nodes if is_simple(node)]
        for node in nodes:
            counts.update(habits(node))
    numbers: dict[str, float] = dict(counts) | {
        "nodes a statement": round(counts["nodes"] / counts["statements"], 2),
        "nodes that nine of ten simple statements do not exceed": sorted(sizes)[9 * len(sizes) // 10],
    }
    print(f"{counts['nodes']:,} nodes")
    for name, limit in LIMITS.items():
        print(f"{name}: {numbers.get(name, 0)}, at most {limit}{'' if numbers.get(name, 0) <= limit else ': TOO MANY'}")
    return int(any(numbers.get(name, 0) > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
