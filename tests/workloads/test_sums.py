"""Sums of two vectors: every element of the result counts, wherever a thread's share ends."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from respeed.backends import make_backend
from respeed.backends._torch_device import HostTwin
from respeed.errors import NotMeasurable
from respeed.measure.case import TOLERANCE, state_errors
from respeed.model.paper import Case
from respeed.workloads import load_workload
from respeed.workloads.vector_sum import CHECKED, VectorSum, _places, _summary
from tests.conformance.programs import errors_of

BACKENDS = [(name, threads) for name in ("openblas", "torch") for threads in (1, 2)]
# A length that every backend spreads over its threads, and that no number of pieces divides.
SPREAD = 2**21 + 12347


@pytest.mark.parametrize(("name", "threads"), BACKENDS)
@pytest.mark.parametrize(
    ("workload", "more"),
    [("vector_sum", {}), ("vector_sum_copied", {"memory": "pageable"}), ("vector_sum_threads", {"threads": 1})],
)
def test_a_sum_agrees_with_float64(name: str, threads: int, workload: str, more: dict[str, str | int]) -> None:
    made = make_backend(name, device="cpu", precision="fp32", threads=threads, seed=1)
    for length in (1, 1025, SPREAD):
        assert max(errors_of(made, Case("sum", workload, {"length": length, **more})).values()) <= TOLERANCE["fp32"]


@settings(max_examples=20)
@given(st.integers(1, 200_000), st.data())
def test_one_element_that_is_missing_is_seen(length: int, data: st.DataObject) -> None:
    case = Case("sum", "vector_sum", {"length": length})
    inputs = VectorSum().inputs(case, seed=3)
    c = np.asarray(inputs["a"]) + np.asarray(inputs["b"])
    place = data.draw(st.integers(0, length - 1))
    expected = VectorSum().reference(case, inputs, {})
    assert max(state_errors(inputs, _summary(c), expected).values()) <= TOLERANCE["fp32"]
    # One that happens to be near 0 is hardly missing.
    c[place] = 0.0 if c[place] > 0.5 else c[place] + 1.0
    assert max(state_errors(inputs, _summary(c), expected).values()) > TOLERANCE["fp32"]


def test_the_checked_places_are_spread_from_the_first_to_the_last() -> None:
    places = _places(2**25)
    assert (places[0], places[-1], len(places)) == (0, 2**25 - 1, CHECKED)
    np.testing.assert_array_equal(_places(5), np.arange(5))


@pytest.mark.parametrize("name", ["openblas", "torch"])
def test_on_a_cpu_a_copied_sum_copies_nothing_and_bare_copies_say_why_they_are_not_run(name: str) -> None:
    made = make_backend(name, device="cpu", precision="fp32", threads=1, seed=1)
    mirror = made.mirrored(np.arange(5.0), pinned=True)
    assert not mirror.apart
    assert np.shares_memory(made.host(mirror.array), mirror.values())
    copies = load_workload("copies")
    case = Case("copy", "copies", {"length": 64, "direction": "to", "memory": "pinned"})
    with pytest.raises(NotMeasurable, match="nothing to copy"):
        copies.build(made, case, copies.inputs(case, 1))


@pytest.mark.gpu
@pytest.mark.parametrize("memory", ["pinned", "pageable"])
def test_on_a_gpu_copies_and_copied_sums_arrive(memory: str) -> None:
    try:
        made = make_backend("torch", device="cuda", precision="fp32", threads=1, seed=1)
    except NotMeasurable as reason:
        pytest.skip(str(reason))
    for direction in ("to", "from"):
        case = Case("copy", "copies", {"length": 70001, "direction": direction, "memory": memory})
        assert max(errors_of(made, case).values()) == 0.0
    case = Case("sum", "vector_sum_copied", {"length": 70001, "memory": memory})
    assert max(errors_of(made, case).values()) <= TOLERANCE["fp32"]


def test_an_array_of_a_device_and_its_twin_differ_until_they_are_copied() -> None:
    """As on an accelerator, where there is none."""
    values = np.arange(1.0, 6.0, dtype=np.float32)
    twin = HostTwin(torch.from_numpy(values.copy()), pinned=False)
    np.testing.assert_array_equal(twin.values(), values)
    np.testing.assert_array_equal(twin.array.numpy(), 0.0)
    twin.upload()
    np.testing.assert_array_equal(twin.array.numpy(), values)
    twin.array.mul_(2.0)
    twin.download()
    np.testing.assert_array_equal(twin.values(), 2 * values)
