"""The pretended GPU can fail: each mistake, planted into a copy of the package, is caught by the test that is named."""

from pathlib import Path

import pytest

from tests.conftest import Project
from tests.pretended_gpu.inner import run_tests
from tests.pretended_gpu.planted import MISTAKES, Mistake

pytestmark = pytest.mark.usefixtures("pretended")
# One of them in every run of the tests: enough to see that they can fail at all.
ALWAYS = "that the memory of the first chunk is free is not recorded"


@pytest.mark.parametrize(
    "mistake",
    [pytest.param(one, id=one.name, marks=[] if one.name == ALWAYS else pytest.mark.slow) for one in MISTAKES],
)
def test_a_mistake_that_is_planted_is_caught_by_its_test(mistake: Mistake, project: Project) -> None:
    project.edit(f"workflow/respeed/{mistake.file}", mistake.old, mistake.new)
    package = Path(project.folder, "workflow")
    found = run_tests(mistake.test, order=mistake.order, workflow=package, options=("-m", mistake.needs))
    assert found.failed == (mistake.test.partition("::")[2],), found.output[-5000:]


@pytest.mark.slow
@pytest.mark.parametrize("order", sorted({one.order for one in MISTAKES}))
def test_without_a_mistake_none_of_these_tests_fails(order: str, project: Project) -> None:
    tests = sorted({one.test for one in MISTAKES if one.order == order})
    found = run_tests(*tests, order=order, workflow=Path(project.folder, "workflow"), options=("-m", ""))
    assert (found.failed, found.passed) == ((), len(tests))
