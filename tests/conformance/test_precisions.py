"""Every workload in TF32, bf16 and fp16: as near to float64 as the precision allows, and honest about which it is."""

from typing import Any

import numpy as np
import pytest

from respeed.backends import BackendContract, make_backend
from respeed.errors import NotMeasurable
from respeed.inputs.registry import runs
from respeed.measure.case import TOLERANCE, what_is_wrong
from respeed.model.paper import Case
from respeed.workloads import load_workload
from tests.conformance.programs import (
    CASES,
    MAX_ALLOCATED,
    WITH_PRODUCTS,
    allocated_bytes,
    errors_of,
    in_place,
    name_of,
)

LOW = ("bf16", "fp16")
# fp16 on the CPU is slow and no profile, but says what it will be on a GPU.
ON_CPU = [("cpu", precision) for precision in LOW]
ON_GPU = [pytest.param("cuda", precision, marks=pytest.mark.gpu) for precision in ("tf32", *LOW)]


def make(device: str, precision: str, seed: int = 1) -> BackendContract:
    try:
        return make_backend("torch", device=device, precision=precision, threads=1, seed=seed)
    except NotMeasurable as reason:
        pytest.skip(str(reason))


def low_cases(cases: list[Case], *precisions: str) -> list[Any]:
    """Those that run in all of the precisions."""
    fitting = (case for case in cases if all(runs(case.workload, "torch", precision) for precision in precisions))
    return [pytest.param(case, id=name_of(case)) for case in fitting]


def low_programs() -> list[Any]:
    """Every case on every device in each low precision that it runs in."""
    return [
        pytest.param(*names, case.values[0], marks=marks, id="-".join((*names, str(case.id))))
        for device in (*ON_CPU, *ON_GPU)
        for names, marks in [(getattr(device, "values", device), getattr(device, "marks", ()))]
        for case in low_cases(CASES, names[1])
    ]


@pytest.mark.parametrize(("device", "precision", "case"), low_programs())
def test_a_step_of_low_precision_agrees_with_float64_as_far_as_it_can(device: str, precision: str, case: Case) -> None:
    errors = errors_of(make(device, precision), case)
    assert what_is_wrong(errors, TOLERANCE[precision]) is None


@pytest.mark.parametrize("case", low_cases(WITH_PRODUCTS, *LOW))
def test_neither_fp16_passes_as_fp32_nor_bf16_as_fp16(case: Case) -> None:
    assert max(errors_of(make("cpu", "fp16"), case).values()) > TOLERANCE["fp32"]
    assert max(errors_of(make("cpu", "bf16"), case).values()) > TOLERANCE["fp16"]


@pytest.mark.parametrize("case", low_cases(in_place("bf16"), "bf16"))
def test_a_step_of_low_precision_allocates_no_array(case: Case) -> None:
    made, module = make("cpu", "bf16"), load_workload(case.workload)
    program = module.build(made, case, module.inputs(case, seed=5))
    for _ in range(3):
        program.step()
    assert allocated_bytes("torch", program.step) < MAX_ALLOCATED


@pytest.mark.parametrize(("device", "precision"), [*ON_CPU, *ON_GPU])
@pytest.mark.parametrize("stack", [(), (3,)])
def test_changes_too_small_for_the_precision_add_up_in_the_parameters(
    device: str, precision: str, stack: tuple[int, ...]
) -> None:
    made = make(device, precision)
    parameters = made.parameters(np.ones((*stack, 8, 8)))
    one = made.array(np.ones((*stack, 8, 1)))
    for _ in range(100):
        made.gemm(one, one, parameters, transpose_b=True, alpha=1e-4, beta=1.0)
    np.testing.assert_allclose(made.host(parameters), 1.01, rtol=1e-5)
    # And products see them: in bf16 the nearest number to 1.01 is 1.0078.
    product = made.zeros(*stack, 8, 1)
    made.gemm(parameters, one, product)
    np.testing.assert_allclose(made.host(product), 8 * 1.01, rtol=4e-3)


@pytest.mark.parametrize(("device", "precision"), [*ON_CPU, *ON_GPU])
@pytest.mark.parametrize("way", ["_add_by_product", "_add_sums", "_add_rounded"])
@pytest.mark.parametrize("shape", [(8, 12), (1, 12), (3, 8, 12), (3, 1, 12)])
def test_every_way_to_add_to_parameters_is_right(
    device: str, precision: str, way: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Any = make(device, precision)
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


@pytest.mark.parametrize(("device", "precision"), [*ON_CPU, *ON_GPU])
def test_samples_of_low_precision_are_as_often_one_as_their_probability_says(device: str, precision: str) -> None:
    made = make(device, precision)
    wanted = np.linspace(0.01, 0.99, 512)  # 0.999 would be 1 in bf16
    x, weights = made.array(np.ones((2000, 1))), made.parameters(np.log(wanted / (1 - wanted))[None, :])
    bias, out, sample = made.parameters(np.zeros((1, 512))), made.zeros(2000, 512), made.zeros(2000, 512)
    draws = made.draws(2000, 512)
    total = np.zeros(512)
    for _ in range(10):
        made.sample_layer(x, weights, bias, out, sample, draws)
        np.testing.assert_array_equal(made.host(sample), draws.last() < made.host(out))
        total += made.host(sample).sum(axis=0)
    probability = made.host(out)[0].astype(np.float64)
    deviation = (total / 20000 - probability) / np.sqrt(probability * (1 - probability) / 20000)
    assert np.abs(deviation).max() < 5
    assert abs(np.mean(deviation**2) - 1) < 0.4
