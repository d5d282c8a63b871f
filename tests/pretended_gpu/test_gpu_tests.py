"""The tests that need a GPU, on the pretended one, in a process of its own."""

import pytest

from tests.pretended_gpu.environment import ORDERS, environment, run_tests

ALL = ("tests/conformance", "tests/pretended_gpu/test_device.py", "tests/pretended_gpu/test_timed.py")
# By default all is tried in fp32, what is the device's own in bf16 too, and of the workloads those that a graph or a
# stream could break: convolutions are not pretended, replicas are processes of their own, and the sparse solvers ask
# step by step.
OTHERS = "jax or bf16 or fp64 or tf32 or fp16 or convnet or data_parallel or sparse_parallel or sparse_published"
SOME = ("-m", "gpu and not slow", "-k", f"not (conformance and ({OTHERS}))")


@pytest.mark.usefixtures("pretended")
@pytest.mark.parametrize(
    ("order", "chosen"),
    [("lazy", SOME), *(pytest.param(order, ("-m", "gpu"), marks=pytest.mark.slow) for order in ORDERS)],
    ids=["some", *ORDERS],
)
def test_the_tests_that_need_a_gpu_pass_on_the_pretended_one(order: str, chosen: tuple[str, ...]) -> None:
    found = run_tests(*ALL, options=chosen, added=environment(order))
    assert not found.failed, found.output[-20000:]
    assert found.passed
