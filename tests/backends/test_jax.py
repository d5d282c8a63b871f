"""JAX's arrays, which cannot be written to, behind a contract in which they are: what is written, where, and when."""

import importlib.util
import os
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
from respeed.workloads import load_workload
from tests.conformance.programs import case_of

needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
WORKLOADS = [name for name, facts in workloads().items() if "jax" in facts.backends and name != "small_step"]
QUICK = ("rbm", "memory_copy", "inverse")


def make(**changed: Any) -> Any:
    return make_backend("jax", **{"device": "cpu", "precision": "fp32", "threads": 1, "seed": 1} | changed)


def test_without_jax_its_rows_cannot_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(NotMeasurable, match="needs the Python package jax, which is not installed"):
        make()


@needs_jax
def test_a_device_that_is_not_there_cannot_be_measured() -> None:
    with pytest.raises(NotMeasurable, match=r"^no TPU device that jax .* can use$"):
        make(device="tpu")


places = st.one_of(
    st.integers(-3, 3),
    st.slices(4),
    st.just(...),
    st.tuples(st.integers(0, 3), st.slices(3)),
    st.tuples(st.slices(4), st.slices(3)),
    st.tuples(st.just(...), st.slices(2), st.slices(2)),
)


@needs_jax
@settings(max_examples=12)  # each is compiled
@given(place=places, inner=st.one_of(st.none(), st.slices(2)))
def test_what_is_written_to_a_part_of_an_array_is_in_the_array(place: Any, inner: slice | None) -> None:
    from respeed.backends._jax import Box

    values = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    wanted = values.copy()
    whole = Box(make().array(values).get())
    part, same = whole[place], wanted[place]
    if inner is not None and len(same):
        part, same = part[inner], same[inner]
    part.put(part.get() + 100)
    same += 100
    np.testing.assert_array_equal(np.asarray(whole.get()), wanted)
    assert part.shape == same.shape


@needs_jax
def test_what_is_written_in_another_shape_is_in_the_array() -> None:
    made = make()
    array = made.zeros(2, 3)
    made.copy(made.array(np.arange(6.0)[None]), array.reshape(1, 6))
    np.testing.assert_array_equal(made.host(array), np.arange(6.0).reshape(2, 3))
    made.copy(made.array([[7.0]]), array[1:].reshape((3, 1)))
    np.testing.assert_array_equal(made.host(array), [[0, 1, 2], [7, 7, 7]])


@needs_jax
def test_an_array_is_a_copy_of_what_it_was_made_of() -> None:
    made, values = make(), np.ones((256, 256), np.float32)
    array = made.array(values)
    step = made.captured(lambda: made.add(array, array))
    step()
    values[:] = 5
    assert (values == 5).all()
    np.testing.assert_array_equal(made.host(array), 2)


@needs_jax
def test_a_step_that_fails_to_be_captured_leaves_the_arrays_as_they_were() -> None:
    made = make()
    array = made.array(np.ones((2, 2)))

    def step() -> None:
        made.add(array, array)
        raise ValueError("no step")

    with pytest.raises(ValueError, match="no step"):
        made.captured(step)
    np.testing.assert_array_equal(made.host(array), 1)


@needs_jax
@pytest.mark.parametrize(
    "workload", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in WORKLOADS]
)
def test_a_program_that_is_built_compiles_nothing_more_and_keeps_its_memory(
    workload: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import jax

    module, case = load_workload(workload), case_of(workload, "large")
    program = module.build(made := make(), case, module.inputs(case, seed=5))
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


@needs_jax
def test_mini_batches_share_one_program() -> None:
    made, case = make(), case_of("rbm", "smoke")
    module = load_workload("rbm")
    module.build(made, case, module.inputs(case, seed=5))
    assert len(made._programs) == 1


@needs_jax
def test_what_is_told_of_a_row_names_its_versions_its_pool_and_its_precision() -> None:
    import jax
    import jaxlib

    facts = make().describe()
    assert (facts["package"], facts["library"]) == (f"jax {jax.__version__}", f"XLA (jaxlib {jaxlib.__version__})")
    assert facts["default_matmul_precision"] == "highest"


@needs_jax
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


@needs_jax
def test_a_row_in_fp32_after_one_in_fp64_is_in_fp32_throughout() -> None:
    import jax
    import jax.numpy as jnp

    assert make(precision="fp64").zeros(1).get().dtype == np.float64
    make()
    assert not jax.config.jax_enable_x64
    assert jnp.asarray(np.ones(1)).dtype == np.float32
