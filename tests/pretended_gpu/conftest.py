"""Tests that need the pretended GPU are skipped, with the reason, where it cannot be built."""

import pytest

from tests.pretended_gpu.environment import CannotBuildError, build


@pytest.fixture(scope="session")
def pretended() -> None:
    """Build the library, or skip the test."""
    try:
        build()
    except CannotBuildError as reason:
        pytest.skip(f"no pretended GPU: {reason}")
