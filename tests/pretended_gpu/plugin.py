"""A plugin for pytest on the pretended GPU: what would be wrong on a device fails the test in which it occurs."""

from collections import Counter
from collections.abc import Generator

import pytest

from tests.pretended_gpu.device import library, take_problems


def pytest_runtest_setup() -> None:
    """Forget what was wrong before: what fixtures provoke is their test's."""
    take_problems()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Function) -> Generator[None, None, None]:
    """Have the device do what was asked of it, and fail the test for what was wrong."""
    yield
    library().cudaDeviceSynchronize()
    # A test that asks for what a device must refuse says so.
    if (problems := take_problems()) and "provokes" not in item.fixturenames:
        told = "\n".join(f"{count} x {problem}" for problem, count in Counter(problems).items())
        pytest.fail(f"the pretended GPU saw:\n{told}", pytrace=False)
