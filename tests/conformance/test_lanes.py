"""What a backend does at once: every item is done once, by one thread each, and lanes share nothing but an image."""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from respeed.backends import BackendContract
from respeed.model.paper import Case
from tests.conformance.programs import build, make, places, state_after

LANES = 3


@pytest.fixture(params=[place.values[0].backend for place in places("fp32", on="cpu", offering=("each",))])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def made(name: str) -> Iterator[BackendContract]:
    made = make(name, threads=LANES)
    if made.lanes == 1:
        pytest.skip(f"{name} does one item after another")
    yield made
    make(name)  # the number of threads is a setting of the whole process


@pytest.mark.parametrize("count", [1, 2, 3, 4, 10, 37])
def test_every_item_is_done_once_in_a_lane_of_its_own(made: BackendContract, count: int) -> None:
    done: list[int] = []
    busy = [threading.Lock() for _ in range(made.lanes)]

    def work(item: int, lane: int) -> None:
        assert busy[lane].acquire(blocking=False), "two items at once in one lane"
        done.append(item)
        made.gemm(ones, ones, made.zeros(64, 64))
        busy[lane].release()

    ones = made.array(np.ones((64, 64)))
    made.each(range(count), work)
    assert sorted(done) == list(range(count))


def test_products_of_a_lane_are_of_one_thread_and_others_of_all_again(made: BackendContract) -> None:
    seen: list[Any] = []
    made.each(range(12), lambda item, lane: seen.append(made.describe()["threads_set"]))
    assert set(seen) == {1}
    assert made.describe()["threads_set"] == LANES


def test_an_error_in_a_lane_is_raised_and_the_next_work_is_spread_again(made: BackendContract) -> None:
    def fail(item: int, lane: int) -> None:
        if item == 7:
            raise ValueError("item 7")

    with pytest.raises(ValueError, match="item 7"):
        made.each(range(12), fail)
    assert made.describe()["threads_set"] == LANES
    done: list[int] = []
    made.each(range(12), lambda item, lane: done.append(item))
    assert sorted(done) == list(range(12))


def test_lanes_that_add_to_the_same_rows_lose_nothing(made: BackendContract) -> None:
    grid, across, n = 6, 3, 512
    windows, image = made.array(np.ones((16, 4, across * across * n))), made.zeros(grid, grid, 4, n)
    for _ in range(20):
        made.each(range(16), lambda item, lane: made.add_up(windows[item : item + 1], item, across, image))
    times = np.minimum(np.minimum(np.arange(grid) + 1, np.arange(grid)[::-1] + 1), across)
    np.testing.assert_array_equal(made.host(image)[:, :, 0, 0], 20 * np.outer(times, times))


def test_patches_learn_in_lanes_what_they_learn_in_one(name: str) -> None:
    sizes: dict[str, Any] = {"side": 96, "patch": 48, "stride": 8, "hidden": 30, "batch": 64, "learning_rate": 0.1}
    case = Case("several stacks", "patches", sizes)
    if make(name, threads=LANES).lanes == 1:
        pytest.skip(f"{name} does one item after another")
    wanted, found = learned(make(name), case), learned(make(name, threads=LANES), case)
    # The same draws whoever makes them.
    np.testing.assert_array_equal(found["uniform"], wanted["uniform"])
    for each in ("weights", "biases", "image", "h1"):
        np.testing.assert_allclose(found[each], wanted[each], rtol=0, atol=2e-6)


def learned(backend: BackendContract, case: Case) -> dict[str, np.ndarray]:
    program = build(backend, case)
    assert len(program.stacks) > LANES
    return state_after(program, 3, backend)


def test_bare_products_of_a_dense_rbm_are_of_matrices_on_all_threads(
    made: BackendContract, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    multiply = made.gemm

    def gemm(a: Any, b: Any, out: Any, **options: Any) -> None:
        seen.append((out.ndim, made.describe()["threads_set"]))
        multiply(a, b, out, **options)

    monkeypatch.setattr(made, "gemm", gemm)
    case = Case("dense", "cd1_products", {"visible": 23, "hidden": 11, "batch": 19, "patches": 1})
    build(made, case).step()
    assert seen == [(2, LANES)] * 4
