"""A plugin for pytest in a process that takes the pretended GPU for one: what would be wrong on a device fails the test
in which it occurs."""

import gc
import sys
from collections.abc import Generator

import pytest
import torch  # noqa: F401  (first: as soon as it is there, it is given its numbers)

from tests.pretended_gpu.device import is_forgiving, library, take_problems
from tests.pretended_gpu.numbers import pretend


def pytest_configure() -> None:
    pretend()


_modules = 0


def pytest_runtest_setup() -> None:
    """What fixtures provoke is their test's. Garbage is collected before every capture: what pytest and modules have
    made by now need not be gone through."""
    global _modules
    take_problems()
    if len(sys.modules) > _modules:
        gc.collect()
        gc.freeze()
        _modules = len(sys.modules)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    yield
    library().cudaDeviceSynchronize()
    if (problems := take_problems()) and not is_forgiving():
        told = "\n".join(f"{problems.count(one)} x {one}" for one in dict.fromkeys(problems))
        pytest.fail(f"the pretended GPU saw:\n{told}", pytrace=False)
