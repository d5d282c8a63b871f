"""Mixed precision: parameters in fp32 beside operands of bf16 or fp16, however a product adds to them."""

from typing import Any

import numpy as np
import pytest

from tests.conformance.programs import make, places

mixed = pytest.mark.parametrize(("backend", "device", "precision"), places("bf16", "fp16", backend="torch"))


@mixed
@pytest.mark.parametrize("stack", [(), (3,)])
def test_changes_too_small_for_the_precision_add_up_in_the_parameters(
    backend: str, device: str, precision: str, stack: tuple[int, ...]
) -> None:
    made = make(backend, device, precision)
    parameters = made.parameters(np.ones((*stack, 8, 8)))
    one = made.array(np.ones((*stack, 8, 1)))
    for _ in range(100):
        made.gemm(one, one, parameters, transpose_b=True, alpha=1e-4, beta=1.0)
    np.testing.assert_allclose(made.host(parameters), 1.01, rtol=1e-5)
    # And products see them: in bf16 the nearest number to 1.01 is 1.0078.
    product = made.zeros(*stack, 8, 1)
    made.gemm(parameters, one, product)
    np.testing.assert_allclose(made.host(product), 8 * 1.01, rtol=4e-3)


@mixed
@pytest.mark.parametrize("way", ["_add_by_product", "_add_sums", "_add_rounded"])
@pytest.mark.parametrize("shape", [(8, 12), (1, 12), (3, 8, 12), (3, 1, 12)])
def test_every_way_to_add_to_parameters_is_right(
    backend: str, device: str, precision: str, way: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Any = make(backend, device, precision)
    add = getattr(made, way, None)
    if add is None:
        pytest.skip(f"no {way} in {precision} on {device}")
    made._first_that_works([(add, 1.0)])  # NotMeasurable, which skips, where torch has it not
    monkeypatch.setattr(made, "_add", add)
    random = np.random.default_rng(3)
    a, b = random.integers(-2, 3, (*shape[:-1], 5)), random.integers(-2, 3, (*shape[:-2], 5, shape[-1]))
    before = random.standard_normal(shape).astype(np.float32)
    out = made.parameters(before)
    made.gemm(made.array(np.swapaxes(a, -1, -2)), made.array(b), out, transpose_a=True, alpha=0.5, beta=0.25)
    np.testing.assert_allclose(made.host(out), 0.5 * a @ b + 0.25 * before, rtol=1e-6, atol=1e-6)
