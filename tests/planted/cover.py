"""Which tests look for a mistake: those that run its lines, as a run of each test showed.

What it showed is kept. The tests of a file run anew if the file changed, or a file of the package that they ran.
"""

import ast
import hashlib
import itertools
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from tests.planted.lines import FOLDER
from tests.planted.mistakes import PACKAGE, Spot, definitions, parse

# A mistake is looked for so long.
LIMIT_SECONDS = 60.0
# So many times as long as now a test may have taken when it was watched.
SLOW_THEN = 4
# What runs when a file is imported sets a limit, or a bound of a field: these have all of them.
OF_LIMITS = ("tests/model/test_limits.py", "tests/inputs/test_right_files.py::test_every_schema")
# Of these tests/golden shows what a report says, which a process of its own makes.
IN_A_REPORT = {"analysis", "output", "report"}
# Only a GPU runs these: tests/pretended_gpu has its own mistakes.
ON_A_GPU = {"backends/_cuda.py", "backends/_replica.py", "kernels/fused.py"}


class Test(NamedTuple):
    """A test, by its name for pytest, with the lines of the package that it runs."""

    name: str
    seconds: float
    lines: dict[str, set[int]]

    @property
    def folder(self) -> str:
        return self.name.partition("/")[2].partition("/")[0]

    @property
    def cost(self) -> float:
        """Low if it is quick and about little."""
        return (self.seconds + 0.1) * sum(map(len, self.lines.values()))


class Cover:
    """What the tests run, as far as their own process runs it."""

    def __init__(self, tests: Iterable[Test]) -> None:
        self.tests = sorted(tests, key=lambda test: test.cost)
        self.of_line = defaultdict[tuple[str, int], list[Test]](list)
        for test in self.tests:
            for file, numbers in test.lines.items():
                for number in numbers:
                    self.of_line[file, number].append(test)

    @cached_property
    def texts(self) -> dict[str, list[str]]:
        """The lines of every file."""
        paths = sorted(PACKAGE.rglob("*.py"))
        return {str(path.relative_to(PACKAGE)): path.read_text("utf-8").splitlines() for path in paths}

    def lines_to_draw(self) -> list[tuple[str, int]]:
        """List the lines that a test runs, when a file is imported or in a process of its own too."""
        found = list[tuple[str, int]]()
        for file in self.texts.keys() - ON_A_GPU:
            root = parse(PACKAGE / file)
            functions = [way[-1] for _, way in definitions((root,)) if isinstance(way[-1], ast.FunctionDef)]
            skipped = set[int]()
            for function in functions:
                numbers = range(function.body[0].lineno, (function.end_lineno or 0) + 1)
                ran = {number for number in numbers if (file, number) in self.of_line}
                skipped |= {*numbers} - ran if ran else set()
            found += [(file, number) for number in range(1, len(self.texts[file]) + 1) if number not in skipped]
        return sorted(found)

    def choose(self, path: Path, spot: Spot) -> list[str]:
        """Name the tests of a spot, the most telling first, and not many more than there is time for."""
        file = str(path.relative_to(PACKAGE))
        running, ranks = dict[str, Test](), dict[str, int]()
        for rank, lines in enumerate(self._lines_of(file, spot)):
            for test in itertools.chain.from_iterable(self.of_line.get(line, ()) for line in lines):
                running[test.name] = test
                ranks.setdefault(test.name, rank)
        beside = [test for test in self.tests if self._is_home(test, file)]
        if file.partition("/")[0] in IN_A_REPORT:
            beside[:0] = [test for test in self.tests if test.folder == "golden"]
        is_in_body = any(isinstance(above, ast.FunctionDef) for above in spot.way)
        limits = [] if is_in_body else [test for test in self.tests if test.name.startswith(OF_LIMITS)]
        order = [*limits, *sorted(running.values(), key=lambda test: (ranks[test.name], test.cost)), *beside]
        chosen, seconds = list[str](), 0.0
        for test in {test.name: test for test in order}.values():
            if not chosen or seconds + test.seconds <= SLOW_THEN * LIMIT_SECONDS:
                chosen.append(test.name)
                seconds += test.seconds
        return chosen

    def _lines_of(self, file: str, spot: Spot) -> Iterator[list[tuple[str, int]]]:
        """Yield the lines by which a spot runs; of a condition, those that it decides about first.

        Of what runs when a file is imported, those are the lines of its class, then those that name it in its file, and
        then elsewhere; so they are of what is compiled, whose lines nobody sees run.
        """
        node, way = spot.nodes[0], spot.way
        inner = [above for above, below in zip(way, (*way[1:], node), strict=True) if _is_in_body(above, below)]
        if inner:
            for above, below in itertools.pairwise((*way, node)):
                if isinstance(above, ast.If) and below is above.test:
                    yield [(file, number) for statement in above.body for number in _numbers(statement)]
            held = next((above for above in (node, *reversed(way)) if isinstance(above, ast.stmt | ast.expr)), node)
            ranges = [held, *(above for above in reversed(way) if isinstance(above, ast.stmt))]
            for outer in ranges:
                last = outer.body[0].lineno - 1 if isinstance(getattr(outer, "body", None), list) else outer.end_lineno
                lines = [(file, number) for number in range(outer.lineno, max(last, outer.lineno) + 1)]
                if any(line in self.of_line for line in lines):
                    yield lines
                    return
        outer = next(
            (above for above in (node, *reversed(way)) if isinstance(above, ast.FunctionDef | ast.ClassDef)), None
        )
        if outer:
            yield [(file, number) for number in range(outer.lineno, (outer.end_lineno or 0) + 1)]
        around = {id(above) for above in (*way, node)}
        names = [name for name, below in definitions((parse(PACKAGE / file),)) if id(below[-1]) in around]
        if names:
            word = re.compile(rf"\b{names[-1].rpartition('.')[2]}\b")
            for other in sorted(self.texts, key=lambda name: name != file):
                yield [(other, number) for number, text in enumerate(self.texts[other], 1) if word.search(text)]

    def _is_home(self, test: Test, file: str) -> bool:
        """Return whether a test is one of a file: of the folder of its name, or of the folder that runs most of it."""
        first, _, rest = file.partition("/")
        stem = Path(file).stem
        folders = {first.removesuffix(".py")} if rest else {stem, self._mostly_in.get(file, "")}
        return test.folder in folders or f"/test_{stem}.py" in test.name

    @cached_property
    def _mostly_in(self) -> dict[str, str]:
        counts = defaultdict[str, Counter[str]](Counter)
        for test in self.tests:
            for file, numbers in test.lines.items():
                counts[file][test.folder] += len(numbers)
        return {file: count.most_common(1)[0][0] for file, count in counts.items()}


def _numbers(statement: ast.stmt) -> range:
    return range(statement.lineno, (statement.end_lineno or 0) + 1)


def _is_in_body(above: ast.AST, below: ast.AST) -> bool:
    return isinstance(above, ast.FunctionDef) and any(below is statement for statement in above.body)


def digest(path: Path) -> str:
    return hashlib.sha1(path.read_bytes()).hexdigest()[:12] if path.exists() else ""


def make_cover(copy: Path, kept: Path, environment: dict[str, str]) -> Cover:
    """Run, of a copy of the project, those tests of which a file changed since, and return what all of them run."""
    known: dict[str, Any] = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    modules = {str(path.relative_to(copy)): digest(path) for path in sorted((copy / "tests").rglob("test_*.py"))}
    # It would find that the code is no more what it was.
    modules.pop("tests/planted/test_planted.py")
    sums = {str(path.relative_to(copy / "workflow/respeed")): digest(path) for path in copy.rglob("respeed/**/*.py")}
    known = {
        module: facts
        for module, facts in known.items()
        if facts["sum"] == modules.get(module) and all(sums.get(file) == one for file, one in facts["files"].items())
    }
    missing = sorted(modules.keys() - known.keys())
    if missing:
        print(f"which lines do the tests of {len(missing)} files run? this may take some minutes", flush=True)
        tests = _watch(copy, missing, environment)
        for module in missing:
            facts = {name: one for name, one in tests.items() if name.partition("::")[0] == module}
            files = {file for one in facts.values() for file in one["lines"]}
            known[module] = {"sum": modules[module], "files": {file: sums[file] for file in files}, "tests": facts}
        kept.write_text(json.dumps(known), encoding="utf-8")
    every = [(name, facts) for one in known.values() for name, facts in one["tests"].items()]
    return Cover(
        Test(name, facts["seconds"], {file: set(lines) for file, lines in facts["lines"].items()})
        for name, facts in every
    )


def _watch(copy: Path, modules: Sequence[str], environment: dict[str, str]) -> dict[str, Any]:
    tests: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        options = ["-q", "-ptests.planted.lines", "-pno:cacheprovider", f"--basetemp={copy}.tests"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *modules], cwd=copy, env=environment | {FOLDER: folder},
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        for path in Path(folder).iterdir():
            tests |= json.loads(path.read_text("utf-8"))
    if not tests:
        sys.exit(f"no test could run: {done.stdout[-2000:]}")
    for line in re.findall(r"^(?:FAILED|ERROR) .*", done.stdout, re.MULTILINE):
        print(f"left out, since it fails as it is: {line}")
    return tests
