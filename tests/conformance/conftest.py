"""What a machine, or a backend, cannot run is skipped with the reason that the tables would show."""

from collections.abc import Generator
from typing import Any

import pytest

from respeed.errors import NotMeasurable
from tests.conformance.programs import Place
from tests.pretended_gpu.environment import is_pretended

# XLA takes up to seconds to compile a step. By default these are tried, a step each; `-m slow` tries all.
QUICK = {"autoencoder", "cd1_products", "matmul", "mlp", "rbm", "rbm_up", "softmax_regression"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_long(item):
            item.add_marker(pytest.mark.slow)


def is_long(item: pytest.Item) -> bool:
    """Whether the test compiles much by JAX, or would on a device that is not here."""
    params: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    place = params.get("place", Place(params.get("name", "")))
    if not isinstance(place, Place) or place.backend != "jax":  # no place of those that a test is for may be here
        return False
    if place != Place("jax"):
        return True
    case, test = params.get("case"), getattr(item, "originalname", "")
    if test == "test_streamed_examples_are_learned_as_if_they_lay_on_the_device" or item.path.stem == "test_draws":
        return True
    is_quick = case and case.name == "smoke" and case.workload in QUICK and test == "test_a_step_agrees_with_float64"
    return bool(case) and not is_quick


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    try:
        yield
    except NotMeasurable as reason:
        pytest.skip(str(reason))


@pytest.fixture
def provokes() -> Generator[None, None, None]:
    """For tests that ask a device for what it must refuse: the pretended one does not fail them for it."""
    if not is_pretended():
        yield
        return
    from tests.pretended_gpu.device import forgiving

    with forgiving():
        yield
