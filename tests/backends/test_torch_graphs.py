"""Steps as graphs, as far as that needs no device."""

import gc

import pytest

from respeed.backends._torch_graphs import finds_generators, first_cause, no_garbage


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
