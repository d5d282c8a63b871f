"""What a machine, or a backend, cannot run is skipped with the reason that the tables would show."""

from collections.abc import Generator

import pytest

from respeed.errors import NotMeasurable


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    try:
        yield
    except NotMeasurable as reason:
        pytest.skip(str(reason))


@pytest.fixture
def provokes() -> None:
    """For tests that ask a device for what it must refuse: the pretended one does not fail them for it."""
