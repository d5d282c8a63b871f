"""What only the pretended device can tell of a program: how products sum, what reads memory that nobody wrote."""

import numpy as np
import pytest

from respeed.inputs.registry import workloads
from tests.conformance.programs import build, case_of, make
from tests.pretended_gpu.environment import is_pretended

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not is_pretended(), reason="of the pretended GPU")]

# How the products of a row may sum, by its precision.
SUMS = {"fp64": {"f64"}, "fp32": {"f32"}, "tf32": {"tf32"}, "bf16": {"f32"}, "fp16": {"f32"}}


@pytest.mark.parametrize("precision", SUMS)
def test_every_product_of_every_workload_sums_as_its_precision_says(precision: str) -> None:
    from tests.pretended_gpu.device import queued_by

    made, found, multiplied = make("torch", "cuda", precision), dict[str, set[str]](), 0
    for name in ("rbm", "mlp", "patches", "convnet", "sparse_descent", "softmax_regression"):
        if "torch" not in workloads()[name].backends or precision not in workloads()[name].precisions:
            continue
        with made._graphs.none():
            program = build(made, case_of(name, "odd"))
        products = [one.name for one in queued_by(program.step) if one.kind == "product"]
        multiplied += bool(products)
        found[name] = {product.partition("sums in ")[2].partition(",")[0] for product in products}
    assert multiplied >= 2
    assert {name: sums for name, sums in found.items() if not sums <= SUMS[precision]} == {}


def test_memory_that_nobody_has_written_has_no_numbers() -> None:
    import torch

    array = torch.empty(8, device="cuda")
    assert torch.isnan(array.cpu()).all()


def test_a_graph_that_uses_an_array_that_was_freed_is_a_problem() -> None:
    import torch

    from tests.pretended_gpu.device import take_problems

    made = make("torch", "cuda")
    scratch, out = [made.zeros(8, 8)], made.zeros(8, 8)
    graph = made.captured(lambda: out.copy_(scratch[0]))
    graph()
    made.sync()
    assert take_problems() == []
    scratch.clear()
    graph()
    made.sync()
    assert [problem for problem in take_problems() if "in a graph" in problem]
    assert torch.cuda.is_available()


def test_a_tf32_product_has_the_digits_of_one_and_a_fp32_product_has_all() -> None:
    values = np.full((4, 4), 1 + 2.0**-12, np.float32)
    kept = {}
    for precision in ("fp32", "tf32"):
        made = make("torch", "cuda", precision)
        out = made.zeros(4, 4)
        made.gemm(made.array(values), made.array(np.eye(4, dtype=np.float32)), out)
        kept[precision] = bool((made.host(out) == values).all())
    assert kept == {"fp32": True, "tf32": False}
