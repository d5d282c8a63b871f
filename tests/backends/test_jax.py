"""JAX's rows: compiled when they are built, their arrays donated, their draws those of the seed; and that a row runs on
its own device, which need not be the one that JAX takes by itself."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from respeed.backends import make_backend
from respeed.errors import NotMeasurable
from tests.conformance import programs
from tests.conformance.programs import build, case_of, numbers_of, steps

jax = pytest.importorskip("jax")
make = partial(programs.make, "jax")


def test_without_jax_or_its_device_a_row_cannot_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    how: Any = {"device": "tpu", "precision": "fp32", "threads": 1, "seed": 1}
    with pytest.raises(NotMeasurable, match=r"^no TPU device that jax .* can use: "):
        make_backend("jax", **how)
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "respeed.backends.jax", raising=False)
    with pytest.raises(NotMeasurable, match="needs the Python package jax, which is not installed"):
        make_backend("jax", **how)


def test_an_array_is_a_copy_of_what_it_was_made_of() -> None:
    made, values = make(), np.ones((256, 256), np.float32)
    array = made.array(values)
    values[:] = 5
    np.testing.assert_array_equal(made.host(array), 1)


def test_a_program_that_is_built_compiles_nothing_more_and_keeps_its_memory() -> None:
    program, events = build(make(), case_of("rbm", "odd")), list[str]()

    def listen(event: str, seconds: float, **told: Any) -> None:
        events.append(event)

    def addresses() -> set[int]:
        return {array.unsafe_buffer_pointer() for array in jax.live_arrays() if array.nbytes > 2**16}

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        steps(program, 1)  # one that is longer than a block is timed
        before = addresses()
        steps(program, 10)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert not [event for event in events if "compile" in event or "trace" in event]
    assert addresses() == before


def test_each_step_draws_anew_evenly_and_by_the_seed() -> None:
    def drawn(seed: int) -> np.ndarray:
        program = build(make(seed=seed), case_of("rbm", "smoke"))
        return np.stack([numbers_of(steps(program, 1))["u"] for _ in range(200)])

    draws = drawn(7)
    assert 0 <= draws.min() < draws.max() < 1
    counts = np.bincount((draws * 2**24).astype(int).ravel() % 64, minlength=64)
    assert abs(((counts - counts.mean()) ** 2 / counts.mean()).sum() - 63) < 5 * np.sqrt(2 * 63)
    assert abs(((draws[1:] - 0.5) * (draws[:-1] - 0.5)).mean()) < 5 / 12 / np.sqrt(draws[1:].size)
    np.testing.assert_array_equal(drawn(7), draws)
    assert (drawn(8) != draws).mean() > 0.9


def test_the_pools_threads_are_counted_or_where_none_is_shown_those_that_it_was_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from respeed.backends.jax import pool_size

    monkeypatch.setenv("PJRT_NPROC", "3")
    assert pool_size(tmp_path / "none") == 3
    for number, name in enumerate(("python", "tf_XLAEigen", "tf_XLAEigen", "llvm-worker-0")):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "comm").write_text(f"{name}\n")
    assert pool_size(tmp_path) == 2


# In a process of its own: how many devices a CPU passes for is read once. JAX takes the first by itself, as it takes a
# GPU beside jax-all, or the first GPU beside a row of the second.
CODE = """
import jax

from tests.conformance.programs import build, case_of, is_right, make

program = build(make("jax", "cpu:1"), case_of("rbm", "smoke"))
assert is_right(program)
assert {device.id for array in jax.live_arrays() for device in array.devices()} == {1}
"""


def test_what_a_row_computes_is_on_its_device_and_nothing_on_the_one_that_jax_begins_with() -> None:
    two = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run([sys.executable, "-c", CODE], env=two, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
