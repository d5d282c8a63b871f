"""Tests that need the pretended GPU are skipped, with the reason, where it cannot be built."""

from pathlib import Path

import pytest

from tests.pretended_gpu.build import CannotBuildError, build


@pytest.fixture(scope="session")
def pretended() -> Path:
    """The folder with its libraries."""
    try:
        return build()
    except CannotBuildError as reason:
        pytest.skip(f"no pretended GPU: {reason}")
