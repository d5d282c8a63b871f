"""What a step may ask of its row: draws, threads that work each for itself, products that add in low precision."""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from respeed import kernels
from respeed.backends import Backend
from tests.conformance.programs import Place, build, case_of, make, numbers_of, places, steps

THREADS = 3


def drawn(place: Place, seed: int) -> np.ndarray:
    """Return 20 times 64 x 512 draws, or what JAX draws, which is in a step of a program."""
    made = make(*place, seed=seed)
    if place.backend == "jax":
        program = build(made, case_of("rbm", "smoke", batch=64, hidden=512))
        return np.stack([numbers_of(steps(program, 1))["u"].astype(float) for _ in range(20)])
    out = made.array(np.zeros((64, 512)), exact=True)
    return np.stack([np.array(made.host(made.uniform(out)), np.float64) for _ in range(20)])


def test_every_backend_computes_on_a_cpu() -> None:
    """Without places, each test here would be skipped."""
    found = {(place.backend, place.precision) for (place,) in (one.values for one in places(on="cpu"))}
    wanted = {"jax": ("fp64", "fp32"), "numpy": ("fp64", "fp32"), "torch": ("fp64", "fp32", "bf16", "fp16")}
    assert found >= {(backend, one) for backend, precisions in wanted.items() for one in precisions}


@pytest.mark.parametrize("place", places())
def test_a_row_describes_itself_completely(place: Place) -> None:
    made, is_jax, values = make(*place), place.backend == "jax", np.ones((256, 256))
    facts: Any = made.describe()
    assert all(facts.get(key) for key in ("package", "library", "threads_set"))
    if place.device == "cpu":
        told = (made.synchronous, made.pools, made.graphs, made.fused, made.bytes_free(), facts.get("accelerator"))
        assert told == (True, 3, False, False, None, None)
        is_low = place.precision in {"bf16", "fp16"}
        assert (made.shares_cores, made.in_pieces) == (is_jax, not is_jax and not is_low)
        assert is_low or made.memory_factor == made.array(values).nbytes / 4 / values.size
    # An array is a copy of what it was made of.
    values = values.astype(made.host_dtype)
    copies = [made.array(values), made.array(values, exact=True), made.array(values.astype(int))]
    values[:] = 5
    for copy in copies:
        np.testing.assert_array_equal(made.host(copy), 1)


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_rehearsals_run_passes_as_they_will(backend: str) -> None:
    made, seen = make(backend), list[int]()
    for how in made.rehearsals():
        with how:
            seen.append(kernels.FEW)
    assert [*seen, kernels.FEW] == [made.few, 0, made.few]


@pytest.mark.parametrize("place", places(of=("jax", "numpy", "torch")))
def test_draws_follow_the_seed_and_never_repeat(place: Place) -> None:
    """Draws are those of the seed and none is like the ones before or beside it."""
    draws, same, others = (drawn(place, seed) for seed in (7, 7, 8))
    assert 0 <= draws.min() < draws.max() < 1
    np.testing.assert_array_equal(draws, same)
    assert (draws != others).mean() > 0.9
    counts = np.bincount((draws * 2**24).astype(np.int64).ravel() % 256, minlength=256)  # of the lower bits
    assert abs(((counts - counts.mean()) ** 2 / counts.mean()).sum() - 255) < 5 * np.sqrt(2 * 255)
    for axis in range(3):  # steps, examples, units: one after another, and the ones that a stride of 2 or 16 apart are
        for lag in (1, 2, 16):
            here, before = (np.delete(draws, end, axis) - 0.5 for end in (np.s_[:lag], np.s_[-lag:]))
            assert abs((here * before).mean()) < 5 / 12 / np.sqrt(here.size), f"axis {axis}, lag {lag}"


@pytest.fixture(params=["numpy", "torch"])
def made(request: pytest.FixtureRequest) -> Iterator[Backend]:
    yield make(request.param, threads=THREADS)
    make(request.param)  # the number of threads is a setting of the whole process


@pytest.mark.parametrize("count", [1, 2, 3, 4, 10, 37])
def test_every_item_runs_once_within_the_threads(made: Any, count: int) -> None:
    """Every item is done once and no more at a time than there are threads."""
    done, places = list[int](), threading.Semaphore(THREADS)

    def work(item: int) -> None:
        assert places.acquire(blocking=False)
        assert made.describe()["threads_set"] == (1 if count > 1 else THREADS)  # for its products
        done.append(item)
        places.release()

    made.each(range(count), work)
    assert (sorted(done), made.describe()["threads_set"]) == ([*range(count)], THREADS)


def test_a_threads_error_is_raised_and_work_continues(made: Any) -> None:
    """An error in a thread is raised and the next work is spread again."""

    def fail(item: int) -> None:
        if item == 7:
            raise ValueError("item 7")

    with pytest.raises(ValueError, match="item 7"):
        made.each(range(12), fail)
    assert made.describe()["threads_set"] == THREADS
    threads: set[int] = set()
    meeting = threading.Barrier(THREADS, timeout=60)
    made.each(range(THREADS), lambda item: (threads.add(threading.get_ident()), meeting.wait()))
    assert len(threads) == THREADS


# Mixed precision: what is learned in fp32 beside operands of bf16 or fp16, however a product adds to it.
mixed = pytest.mark.parametrize("place", places("bf16", "fp16", of=["torch"]))


@mixed
@pytest.mark.parametrize("stack", [(), (3,)])
def test_tiny_changes_add_up_in_what_is_learned(place: Place, stack: tuple[int, ...]) -> None:
    """Changes too small for the precision add up in what is learned."""
    made = make(*place)
    learned, one = made.array(np.ones((*stack, 8, 8)), exact=True), made.array(np.ones((*stack, 8, 1)))
    for _ in range(100):
        made.add_product(learned, one, one.mT, alpha=1e-4)
    np.testing.assert_allclose(made.host(learned), 1.01, rtol=1e-5)
    # And products see them: in bf16 the nearest number to 1.01 is 1.0078.
    (operand,) = made.operands(learned)
    np.testing.assert_allclose(made.host(operand @ one), 8 * 1.01, rtol=4e-3)


@mixed
@pytest.mark.parametrize("adds_itself", [True, False])
@pytest.mark.parametrize("shape", [(8, 12), (1, 12), (3, 8, 12), (3, 1, 12)])
def test_every_way_to_add_a_product_is_right(place: Place, adds_itself: bool, shape: tuple[int, ...]) -> None:
    made: Any = make(*place)
    if adds_itself and not made._adds_itself:
        pytest.skip(f"no product in {place.precision} adds to fp32 on {place.device}")
    made._adds_itself = adds_itself
    random = np.random.default_rng(3)
    a, b = (random.integers(-2, 3, one).astype(float) for one in ((*shape[:-1], 5), (*shape[:-2], 5, shape[-1])))
    before = random.standard_normal(shape).astype(np.float32)
    out = made.array(before, exact=True)
    made.add_product(out, made.array(np.swapaxes(a, -1, -2)).mT, made.array(b), alpha=0.5, beta=0.25)
    np.testing.assert_allclose(made.host(out), 0.5 * a @ b + 0.25 * before, rtol=1e-6, atol=1e-6)
