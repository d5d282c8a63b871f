"""JAX's rows: compiled when they are built, their arrays donated, and on their own device, not JAX's first."""

import importlib
import os
import subprocess
import sys
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from respeed.backends import make_backend
from respeed.errors import NotMeasurable
from tests.conformance import programs
from tests.conformance.programs import build, case_of, steps

jax = pytest.importorskip("jax")
make = partial(programs.make, "jax")


def test_without_jax_a_row_cannot_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    how: Any = {"device": "tpu", "precision": "fp32", "threads": 1, "seed": 1}
    with pytest.raises(NotMeasurable, match=r"^no TPU device that jax .* can use: "):
        make_backend("jax", **how)
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "respeed.backends.jax", raising=False)
    with pytest.raises(NotMeasurable, match="needs the Python package jax, which is not installed"):
        make_backend("jax", **how)


@pytest.mark.parametrize(("precision", "products"), [("tf32x3", "tf32"), ("bf16x9", "bf16")])
def test_products_in_parts_are_asked_of_gpus_alone(
    precision: str, products: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """XLA is asked for a product as a sum of so many in low precision, on a GPU; other devices refuse the row."""
    module = importlib.import_module("respeed.backends.jax")
    with pytest.raises(NotMeasurable, match=rf"^{precision} is a precision of GPUs$"):
        make_backend("jax", device="cpu", precision=precision, threads=1, seed=1)
    monkeypatch.setattr(module, "find_device", lambda *_: jax.devices("cpu")[0])
    try:
        make_backend("jax", device="cuda", precision=precision, threads=1, seed=1)
        square = jax.ShapeDtypeStruct((8, 8), "float32")
        multiply = jax.jit(lambda a, b: a @ b)
        text = multiply.trace(square, square).lower(lowering_platforms=("cuda",)).as_text()
    finally:
        make_backend("jax", device="cpu", precision="fp32", threads=1, seed=1)
    assert f"lhs_precision_type = {products}" in text
    assert f"num_primitive_operations = {precision[-1]}" in text


def test_a_jax_device_tells_name_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device of its own tells its name and memory and is waited for."""
    find_device = importlib.import_module("respeed.backends.jax").find_device
    program = steps(build(make(), case_of("rbm_up", "smoke")), 1)
    made, memory = program.backend, {"bytes_limit": 10, "bytes_in_use": 3}
    assert made.asked["key"] is program.arrays.key
    gpus = [SimpleNamespace(device_kind=name, memory_stats=lambda: memory) for name in "AB"]
    monkeypatch.setattr(jax, "devices", {"gpu": gpus, "tpu": gpus[:1]}.__getitem__)
    monkeypatch.setattr(jax, "block_until_ready", waited := Mock())
    assert [find_device("cuda", one) for one in (None, 0, 1)] == [gpus[0], *gpus]
    made.device, made.synchronous = gpus[1], False
    assert (made.bytes_free(), made.describe()["accelerator"]) == (7.0, "B")
    memory.clear()
    assert made.bytes_free() is None
    made.sync()
    waited.assert_called_once_with(made.asked)


def test_a_built_program_compiles_nothing_more() -> None:
    """A program that is built compiles nothing more and keeps its memory."""
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


# In a process of its own: how many devices a CPU passes for is read once. JAX takes the first by itself, as it takes a
# GPU beside jax-all, or the first GPU beside a row of the second.
CODE = """
import jax

from tests.conformance.programs import build, case_of, is_right, make

program = build(make("jax", "cpu:1"), case_of("rbm", "smoke"))
assert is_right(program)
assert {device.id for array in jax.live_arrays() for device in array.devices()} == {1}
"""


def test_arrays_stay_on_the_rows_own_device() -> None:
    """What a row computes is on its device and nothing on the one that JAX begins with."""
    two = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run([sys.executable, "-c", CODE], env=two, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
