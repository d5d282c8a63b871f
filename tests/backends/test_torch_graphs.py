"""Steps as graphs, as far as that needs no device."""

import gc
from collections.abc import Callable

import pytest
import torch

from respeed.backends import _torch_device
from respeed.backends._torch_device import Graphs, finds_generators, first_cause, no_garbage


@pytest.mark.parametrize(
    ("version", "by_itself"),
    [("2.9.1", False), ("2.13.0+cu130", False), ("2.14.0a0+git1", True), ("2.15.0+cu132", True), ("3.0.0", True)],
)
def test_generators_are_named_to_a_graph_only_where_torch_asks_for_it(version: str, by_itself: bool) -> None:
    assert finds_generators(version) is by_itself


def broken_off() -> None:
    raise RuntimeError("operation not permitted when stream is capturing")


def ended() -> None:
    try:
        broken_off()
    finally:
        raise RuntimeError("operation failed due to a previous error during capture")


def test_what_broke_a_capture_is_told_and_not_what_came_of_it() -> None:
    with pytest.raises(RuntimeError, match="previous error") as found:
        ended()
    assert str(first_cause(found.value)) == "operation not permitted when stream is capturing"


class OldGenerator:
    """As torch had it before 2.14: it takes part in a capture until one ends well."""

    def __init__(self) -> None:
        self.in_capture = False

    def clone_state(self) -> "OldGenerator":
        return OldGenerator()

    def graphsafe_set_state(self, state: "OldGenerator") -> None:
        self.in_capture = state.in_capture


@pytest.mark.parametrize("product_fails", [False, True])
def test_a_generator_that_was_named_to_a_graph_is_free_after_a_capture_that_was_broken_off(
    product_fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def captured(step: Callable[[], None], random: OldGenerator, *_: object) -> None:
        random.in_capture = True
        step()
        random.in_capture = False

    def product() -> None:
        if product_fails:
            broken_off()

    graphs, random = Graphs.__new__(Graphs), OldGenerator()
    monkeypatch.setattr(torch, "__version__", "2.9.1")
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: (0, 1))
    monkeypatch.setattr(_torch_device, "CapturedStep", captured)
    vars(graphs).update(_random=random, _product=product, _stream=None, _pool=(0, 0), _wanted=True, _troubles={})
    assert graphs.captured(broken_off) == broken_off
    assert graphs.why_plain() == "RuntimeError: operation not permitted when stream is capturing"
    assert not random.in_capture


def test_no_garbage_is_collected_while_a_step_is_captured() -> None:
    class Knot:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            gone.append(gc.isenabled())

    gone: list[bool] = []
    Knot()
    with no_garbage():
        assert gone == [True]
        assert not gc.isenabled()
    assert gc.isenabled()
