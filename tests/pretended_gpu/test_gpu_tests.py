"""The tests that need a GPU, on the pretended one, in a process of its own."""

from collections.abc import Callable

import pytest

from tests.pretended_gpu.environment import ORDERS
from tests.pretended_gpu.inner import run_tests


@pytest.mark.usefixtures("pretended")
@pytest.mark.parametrize("order", ORDERS)
def test_the_tests_that_need_a_gpu_pass_on_the_pretended_one(
    order: str, record_property: Callable[[str, object], None]
) -> None:
    found = run_tests("tests/conformance", "tests/pretended_gpu/test_device.py", order=order)
    record_property("pretended GPU", f"{order}: {found}")
    assert not found.failed, found.output[-20000:]
    assert found.passed
