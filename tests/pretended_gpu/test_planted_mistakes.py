"""The pretended GPU can fail: each mistake, planted into a copy of the package, is caught by the test that is named."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Project
from tests.pretended_gpu.inner import run_tests
from tests.pretended_gpu.planted import MISTAKES, Mistake

pytestmark = pytest.mark.usefixtures("pretended")
# One of them in every run of the tests: enough to see that they can fail at all.
ALWAYS = "that the memory of the first chunk is free is not recorded"
# Where the device is waited for outside of what is timed: before a check, too, which reads its arrays anyhow.
UNTIMED = {"_rehearse", "_check_and_time"}


@pytest.mark.parametrize(
    "mistake",
    [pytest.param(one, id=one.name, marks=[] if one.name == ALWAYS else pytest.mark.slow) for one in MISTAKES],
)
def test_a_mistake_that_is_planted_is_caught_by_its_test(mistake: Mistake, project: Project) -> None:
    project.edit(f"workflow/respeed/{mistake.file}", mistake.old, mistake.new)
    package = Path(project.folder, "workflow")
    options = ("-m", "gpu" if mistake.on_gpu else "")
    found = run_tests(mistake.test, order=mistake.order, workflow=package, options=options, pretended=mistake.on_gpu)
    assert {*found.failed} == {mistake.test.partition("::")[2]}, found.output[-5000:]


@pytest.mark.slow
@pytest.mark.parametrize("order", sorted({one.order for one in MISTAKES}))
def test_without_a_mistake_none_of_these_tests_fails(order: str, project: Project) -> None:
    tests = sorted({one.test for one in MISTAKES if one.order == order and one.on_gpu})
    found = run_tests(*tests, order=order, workflow=Path(project.folder, "workflow"), options=("-m", ""))
    assert (found.failed, found.passed) == ((), len(tests))


def waits() -> Iterator[Any]:
    """Every place where what is timed waits for the device: a file, the place in it, and what stands there."""
    package = ROOT / "workflow/respeed"
    for path in (*sorted(package.glob("timing/*.py")), package / "measure/case.py"):
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.FunctionDef) or function.name in UNTIMED:
                continue
            calls = (one.value for one in ast.walk(function) if isinstance(one, ast.Expr))
            texts = ((call, ast.unparse(call)) for call in calls if isinstance(call, ast.Call))
            for call, text in texts:
                if text.endswith("sync()"):
                    file = str(path.relative_to(ROOT))
                    name = f"{path.stem}-{function.name}-{call.lineno}"
                    yield pytest.param(file, call.lineno - 1, call.col_offset, text, id=name)


@pytest.mark.slow
@pytest.mark.parametrize(("file", "line", "column", "text"), [*waits()])
def test_a_wait_that_is_taken_out_of_what_is_timed_is_seen(
    file: str, line: int, column: int, text: str, project: Project
) -> None:
    lines = (project.folder / file).read_text().splitlines()
    assert lines[line][column:] == text
    lines[line] = lines[line][:column] + "pass"
    (project.folder / file).write_text("\n".join(lines) + "\n")
    found = run_tests("tests/pretended_gpu/test_timed.py", workflow=Path(project.folder, "workflow"))
    assert found.failed, "no test sees it"
