"""The tests that need a GPU, on the pretended one, in a process of its own."""

from collections.abc import Callable

import pytest

from tests.pretended_gpu.environment import ORDERS
from tests.pretended_gpu.inner import run_tests

ALL = ("tests/conformance", "tests/pretended_gpu/test_device.py", "tests/pretended_gpu/test_timed.py")
# By default all is tried in fp32 and bf16, and of the workloads those that a graph or a stream could break:
# convolutions are not pretended, replicas are processes of their own, and the sparse solvers ask step by step.
OTHERS = ("jax", "fp64", "tf32", "fp16", "convnet", "data_parallel", "sparse_parallel", "sparse_published")
WITHOUT_OTHERS = ("-k", f"not (conformance and ({' or '.join(OTHERS)}))")

pytestmark = pytest.mark.usefixtures("pretended")
Record = Callable[[str, object], None]


def test_the_tests_that_need_a_gpu_pass_on_the_pretended_one(record_property: Record) -> None:
    check("lazy", ALL, WITHOUT_OTHERS, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_all_tests_that_need_a_gpu_pass_on_the_pretended_one_in_every_order(
    order: str, record_property: Record
) -> None:
    check(order, ALL, (), record_property)


def check(order: str, tests: tuple[str, ...], chosen: tuple[str, ...], record_property: Record) -> None:
    found = run_tests(*tests, order=order, options=("-m", "gpu and not slow" if chosen else "gpu", *chosen))
    record_property("pretended GPU", f"{order}: {found}")
    assert not found.failed, found.output[-20000:]
    assert found.passed
