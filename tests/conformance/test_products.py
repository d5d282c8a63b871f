"""The check of every workload that has products: one that is rounded, or wrong in one element, does not pass."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from respeed.backends import BackendContract
from respeed.inputs.registry import runs, workloads
from respeed.measure.case import TOLERANCE, state_errors
from respeed.model.paper import Case
from respeed.workloads import Product, load_workload
from tests.conformance.programs import WITH_PRODUCTS, WORKLOADS, case_of, errors_of, make, name_of, state_after

# Of torch's own products, which of their arguments are multiplied.
FACTORS = {
    "mm": (0, 1), "bmm": (0, 1), "mv": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2), "addmv": (1, 2),
    "addmm_": (1, 2), "baddbmm_": (1, 2), "addmv_": (1, 2), "convolution": (0, 1),
    "convolution_backward": (0, 1, 2), "mkldnn_convolution": (0, 1),
}  # fmt: skip


def rounded(array: np.ndarray, bits: int) -> np.ndarray:
    """float32 with `bits` bits of mantissa, rounded to nearest."""
    drop = 23 - bits
    integers = np.ascontiguousarray(array).view(np.int32)
    kept: np.ndarray = ((integers + (1 << (drop - 1))) & ~((1 << drop) - 1)).view(np.float32)
    return kept


class TorchInTf32(TorchDispatchMode):
    """Rounds the factors of every product in fp32 that torch does meanwhile, those of derivatives included; a reference
    in float64 stays exact."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for place in FACTORS.get(func.overloadpacket.__name__, ()):
            if args[place].dtype != torch.float32 or args[place].is_meta:
                continue
            factor = torch.from_numpy(rounded(args[place].detach().numpy(), 10))
            args = (*args[:place], factor, *args[place + 1 :])
        return func(*args, **(kwargs or {}))


def is_wrong_where(case: Case, monkeypatch: pytest.MonkeyPatch, precision: str, name: str, by: Any) -> None:
    """What the backend does by the name is done by `by(made)`: the step does not pass."""
    made = make("openblas", precision=precision)
    monkeypatch.setattr(made, name, by(made))
    assert max(errors_of(made, case).values()) > TOLERANCE[precision]


def gemm_in_tf32(made: BackendContract) -> Callable[..., None]:
    exact = made.gemm

    def gemm(a: np.ndarray, b: np.ndarray, out: np.ndarray, **options: Any) -> None:
        exact(rounded(a, 10), rounded(b, 10), out, **options)

    return gemm


@pytest.mark.parametrize("case", WITH_PRODUCTS, ids=name_of)
def test_a_product_in_tf32_does_not_pass_as_fp32(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    backends = workloads()[case.workload].backends
    if "openblas" in backends:
        is_wrong_where(case, monkeypatch, "fp32", "gemm", gemm_in_tf32)
    elif "torch" in backends:
        with TorchInTf32():
            assert max(errors_of(make("torch"), case).values()) > TOLERANCE["fp32"]
    else:
        pytest.skip(f"{case.workload} runs on neither openblas nor torch, whose products are rounded here")


IN_FP64 = [case for case in WITH_PRODUCTS if runs(case.workload, "openblas", "fp64")]


@pytest.mark.parametrize("case", IN_FP64, ids=name_of)
def test_products_in_fp32_alone_do_not_pass_as_fp64(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    single = make("openblas")

    def gemm(a: np.ndarray, b: np.ndarray, out: np.ndarray, **options: Any) -> None:
        narrow = single.array(out)
        single.gemm(single.array(a), single.array(b), narrow, **options)
        out[...] = narrow

    is_wrong_where(case, monkeypatch, "fp64", "gemm", lambda made: gemm)


@pytest.mark.parametrize("case", IN_FP64, ids=name_of)
def test_compiled_steps_in_fp32_alone_do_not_pass_as_fp64(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    if not set(workloads()[case.workload].asks) - {"each", "stack_bytes", "limited"}:
        pytest.skip(f"{case.workload} has no compiled steps")

    def run(kernel: Any, count: int, elements: int, *arguments: Any) -> None:
        kernel(0, count, *arguments)
        for array in arguments:
            if isinstance(array, np.ndarray) and array.dtype == np.float64:
                array[...] = array.astype(np.float32)

    is_wrong_where(case, monkeypatch, "fp64", "run", lambda made: run)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_one_wrong_element_of_a_product_is_seen(workload: str) -> None:
    case, module = case_of(workload, "odd"), load_workload(workload)
    # Not JAX, which compiles for seconds, where there is another.
    name = min(workloads()[workload].backends, key=lambda name: (name != "openblas", name != "torch"))
    made, inputs = make(name), module.inputs(case, seed=5)
    program = module.build(made, case, inputs)
    state = state_after(program, 1, made)
    expected = module.reference(case, inputs, state)
    name = next((name for name, reference in expected.items() if isinstance(reference, Product)), "")
    if not name:
        pytest.skip(f"{workload}: the reference does every product itself")
    left, right = expected[name].left, expected[name].right
    product = expected[name].factor * (
        left @ right if right.ndim == 2 else np.stack([a @ b for a, b in zip(left, right, strict=True)])
    )
    state[name].reshape(-1, product.shape[-1])[3, 2] += 0.05 * np.abs(product).max()
    assert state_errors(inputs, state, expected)[name] > TOLERANCE["fp32"]


ADDED = Case("added", "matmul", {"m": 37, "k": 53, "n": 29, "alpha": 0.8, "beta": 0.4, "transposed": "b"})


@pytest.mark.parametrize("precision", ["fp64", "fp32", "bf16", "fp16"])
@pytest.mark.parametrize("ignored", [{"beta": 0.0}, {"beta": 1.0}, {"alpha": 1.0}])
def test_a_product_that_ignores_what_the_case_asks_for_does_not_pass(precision: str, ignored: Any) -> None:
    made = make("torch", "cpu", precision)
    assert errors_of(made, ADDED)["c"] < TOLERANCE[precision]
    assert errors_of(made, ADDED, lambda program: program.how.update(ignored))["c"] > 5 * TOLERANCE[precision]


@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
@pytest.mark.parametrize("name", ["openblas", "torch"])
def test_a_product_is_of_the_factors_that_lie_transposed(name: str, transposed: str) -> None:
    options = {"transposed": transposed} if transposed else {}
    case = Case("turned", "matmul", {"m": 37, "k": 53, "n": 29, **options})
    assert errors_of(make(name), case)["c"] < TOLERANCE["fp32"]
    inputs = load_workload("matmul").inputs(case, seed=5)
    assert inputs["a"].shape == ((53, 37) if "a" in transposed else (37, 53))
    assert inputs["b"].shape == ((29, 53) if "b" in transposed else (53, 29))
