"""The pretended GPU can fail: each mistake, planted into a copy of the package, is caught by the test that is named."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import ROOT, Project
from tests.planted.mistakes import Mistake, read_mistakes
from tests.pretended_gpu.environment import environment, run_tests

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("pretended")]


@pytest.mark.parametrize("mistake", read_mistakes("on_a_gpu.txt"), ids=lambda one: f"{one.file}: {one.old.strip()}")
def test_a_mistake_that_is_planted_is_caught_by_its_test(mistake: Mistake, project: Project) -> None:
    project.edit(f"workflow/respeed/{mistake.file}", mistake.old, mistake.new)
    # The order of streams in which more goes wrong.
    (test,) = mistake.tests
    added, options = ({}, ()) if "tests/kernels" in test else (environment("reverse"), ("-m", "gpu"))
    found = run_tests(test, options=options, workflow=project.folder / "workflow", added=added)
    assert {*found.failed} == {test.partition("::")[2]}, found.output[-5000:]


def waits() -> Iterator[Any]:
    """Yield every line on which what is timed waits for the device: its file and its number."""
    path = ROOT / "workflow/respeed/measure/timing.py"
    for place, line in enumerate(path.read_text().splitlines()):
        if line.strip() in {"sync()", "self.sync()"}:
            yield pytest.param(str(path.relative_to(ROOT)), place, id=f"{path.stem}-{place + 1}")


@pytest.mark.parametrize(("file", "place"), [*waits()])
def test_a_wait_that_is_taken_out_of_what_is_timed_is_seen(file: str, place: int, project: Project) -> None:
    lines = (project.folder / file).read_text().splitlines()
    lines[place] = lines[place].replace(lines[place].strip(), "pass")
    (project.folder / file).write_text("\n".join(lines) + "\n")
    timed = "tests/pretended_gpu/test_timed.py"
    found = run_tests(timed, options=("-m", "gpu"), workflow=project.folder / "workflow", added=environment())
    assert found.failed, "no test sees it"
