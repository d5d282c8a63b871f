"""JAX's arrays, which cannot be written to, behind a contract in which they are: what is written, where, and when; and
that a row runs on its own device, which need not be the one that JAX takes by itself."""

import importlib.util
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respeed.backends import make_backend
from respeed.backends._jax_pool import NAMES, pool_size, set_pool
from respeed.errors import NotMeasurable
from respeed.inputs.registry import workloads
from tests.conformance import programs
from tests.conformance.programs import build, case_of

WORKLOADS = [name for name, facts in workloads().items() if "jax" in facts.backends and name != "small_step"]
QUICK = ["inverse", "matmul", "memory_copy", "rbm"]
make = partial(programs.make, "jax")  # the test is skipped where there is none


def test_without_jax_its_rows_cannot_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(NotMeasurable, match="needs the Python package jax, which is not installed"):
        make_backend("jax", device="cpu", precision="fp32", threads=1, seed=1)


def test_a_device_that_is_not_there_cannot_be_measured() -> None:
    pytest.importorskip("jax")
    with pytest.raises(NotMeasurable, match=r"^no TPU device that jax .* can use: "):
        make_backend("jax", device="tpu", precision="fp32", threads=1, seed=1)


places = st.one_of(
    st.integers(-3, 3),
    st.slices(4),
    st.just(...),
    st.tuples(st.integers(0, 3), st.slices(3)),
    st.tuples(st.slices(4), st.slices(3)),
    st.tuples(st.just(...), st.slices(2), st.slices(2)),
)


@settings(max_examples=12)  # each is compiled
@given(place=places, inner=st.one_of(st.none(), st.slices(2)))
def test_what_is_written_to_a_part_of_an_array_is_in_the_array(place: Any, inner: slice | None) -> None:
    made = make()
    from respeed.backends._jax import Box

    values = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    wanted = values.copy()
    whole = Box(made.array(values).get())
    part, same = whole[place], wanted[place]
    if inner is not None and len(same):
        part, same = part[inner], same[inner]
    part.put(part.get() + 100)
    same += 100
    np.testing.assert_array_equal(np.asarray(whole.get()), wanted)
    assert part.shape == same.shape


def test_what_is_written_in_another_shape_is_in_the_array() -> None:
    made = make()
    array = made.zeros(2, 3)
    made.copy(made.array(np.arange(6.0)[None]), array.reshape(1, 6))
    np.testing.assert_array_equal(made.host(array), np.arange(6.0).reshape(2, 3))
    made.copy(made.array([[7.0]]), array[1:].reshape((3, 1)))
    np.testing.assert_array_equal(made.host(array), [[0, 1, 2], [7, 7, 7]])


def test_an_array_is_a_copy_of_what_it_was_made_of() -> None:
    made, values = make(), np.ones((256, 256), np.float32)
    array = made.array(values)
    step = made.captured(lambda: made.add(array, array))
    step()
    values[:] = 5
    assert (values == 5).all()
    np.testing.assert_array_equal(made.host(array), 2)


def test_a_step_that_fails_to_be_captured_leaves_the_arrays_as_they_were() -> None:
    made = make()
    array = made.array(np.ones((2, 2)))

    def step() -> None:
        made.add(array, array)
        raise ValueError("no step")

    with pytest.raises(ValueError, match="no step"):
        made.captured(step)
    np.testing.assert_array_equal(made.host(array), 1)


@pytest.mark.parametrize(
    "workload", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in WORKLOADS]
)
def test_a_program_that_is_built_compiles_nothing_more_and_keeps_its_memory(
    workload: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    jax = pytest.importorskip("jax")
    program = build(made := make(), case_of(workload, "large"))
    compiled: list[str] = []
    monkeypatch.setattr(jax.stages.Lowered, "compile", lambda self: compiled.append(self.as_text()))

    def listen(event: str, seconds: float, **told: Any) -> None:
        if "compile" in event or "trace" in event:
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        program.step()  # one that is longer than a block is timed
        before = {array.unsafe_buffer_pointer() for array in jax.live_arrays() if array.nbytes > 2**16}
        for _ in range(10):
            program.step()
        made.sync()
        after = {array.unsafe_buffer_pointer() for array in jax.live_arrays() if array.nbytes > 2**16}
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert compiled == []
    if workload not in ("inverse", "rbm_streamed"):  # they ask for some of their steps one by one
        assert after == before


def test_mini_batches_share_one_program() -> None:
    build(made := make(), case_of("rbm", "smoke"))
    assert len(made._programs) == 1


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="this kernel does not show threads")
def test_the_pools_threads_are_counted_and_not_what_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    before = make().describe()["threads_set"]
    for name in NAMES:
        monkeypatch.setenv(name, str(before + 5))
    assert make().describe()["threads_set"] == before


@mock.patch.dict(os.environ)
def test_where_no_thread_is_shown_the_environment_says_how_many_the_pool_has(tmp_path: Path) -> None:
    for name in NAMES:
        os.environ.pop(name, None)
    set_pool(3)
    assert pool_size(tmp_path / "none") == 3
    for number, name in enumerate(("python", "tf_XLAEigen", "tf_XLAEigen", "llvm-worker-0")):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "comm").write_text(f"{name}\n")
    assert pool_size(tmp_path) == 2


def test_a_row_in_fp32_after_one_in_fp64_is_in_fp32_throughout() -> None:
    jax = pytest.importorskip("jax")

    assert make(precision="fp64").zeros(1).get().dtype == np.float64
    make()
    assert not jax.config.jax_enable_x64
    assert jax.numpy.asarray(np.ones(1)).dtype == np.float32


# In a process of its own: how many devices a CPU passes for is read once. JAX takes the first by itself, as it takes a
# GPU beside jax-all, or the first GPU beside a row of the second.
CODE = """
import sys

import jax

from respeed.backends import make_backend
from tests.conformance.programs import build, case_of, errors_of

made = make_backend("jax", device="cpu:1", precision="fp32", threads=1, seed=1)
for name in sys.argv[1:]:
    case = case_of(name, "smoke")
    assert max(errors_of(made, case).values()) < 1e-3, name
    program = build(made, case)
    program.step()
    made.sync()
    places = {device.id for array in jax.live_arrays() for device in array.devices()}
    assert places == {1}, (name, places)
"""


@pytest.mark.parametrize("workloads", [QUICK, pytest.param(WORKLOADS, marks=pytest.mark.slow)], ids=["quick", "all"])
def test_what_a_row_computes_is_on_its_device_and_nothing_on_the_one_that_jax_begins_with(workloads: list[str]) -> None:
    pytest.importorskip("jax")
    two = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run(
        [sys.executable, "-c", CODE, *workloads], env=two, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
