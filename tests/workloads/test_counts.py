"""The operations and bytes of a step, which rates, rooflines and memory's share follow from: for every workload the sum
as a person writes it down for its "odd" case."""

import math

import pytest

from respeed.errors import NotMeasurable
from respeed.inputs.registry import workloads
from respeed.model import Case
from respeed.workloads import make_workload
from tests.conformance.programs import case_of

# A product of all three, and the numbers of a matrix of weights.
V, H, B = 181, 193, 163
VHB, VH = 2 * V * H * B, V * H


def net(V: int, H: int, C: int, B: int) -> tuple[float, float]:
    """Of V, H, H, H and C units: two products of its first layer, three of the others.

    Of weights and outputs four uses each (of the first layer's weights three), of errors four, below the first layer's
    three; examples twice.
    """
    weights, numbers = 2 * H * H + H * C, B * (2 * V + 4 * (3 * H + C) + 3 * H + 4 * (2 * H + C))
    return B * (4 * V * H + 6 * weights), 3 * V * H + 4 * weights + numbers


def pretrained(v: int, h: int, V: int, H: int, C: int, B: int) -> tuple[float, float]:
    """Two epochs of three layers, the second and third fed through one and two layers; three epochs of the net.

    Of each example a learner reads and writes visible units v times, hidden units h times.
    """
    first, above = (5 * n * H + B * (v * n + h * H) for n in (V, H))
    up, further_up = (n * H + B * (n + H) for n in (V, H))
    flops, numbers = net(V, H, C, B)
    learned = 2 * 5 * V * H * B + 2 * 2 * 5 * H * H * B + 2 * 2 * V * H * B + 2 * H * H * B
    return 2 * learned + 3 * flops, 2 * (first + (above + up) + (above + up + further_up)) + 3 * numbers


# Operations of a step (None where nobody can say beforehand), and the numbers of 4 bytes that it reads and writes.
COUNTS: dict[str, tuple[float | None, float]] = {
    "matmul": (2 * 181 * 193 * 163, 181 * 193 + 193 * 163 + 181 * 163),
    "repeated_product": (3 * 2 * 181**3, 3 * 3 * 181**2),
    # 5 % of 181 x 193 entries, each with its column; where the 181 rows begin; B and C.
    "sparse_matmul": (2 * 1747 * 163, 2 * 1747 + 182 + 193 * 163 + 181 * 163),
    "inverse": (2 / 3 * 181**3 + 4 / 3 * 181**3, 2 * 181**2),
    "rbm": (5 * VHB, 5 * VH + B * (6 * V + 12 * H)),
    "rbm_up": (VHB, VH + B * (V + H)),
    # The data's half and three Gibbs steps: W nine times; v0, v and h0, h; both layers' samples and probabilities.
    "rbm_pcd": (9 * VHB, 9 * VH + B * (4 * V + 4 * H + 3 * 3 * (V + H))),
    "cd1_products": (3 * 5 * VHB, 3 * (4 * VH + B * (5 * V + 5 * H))),
    # 9 x 9 places in an image of 33 x 33, each a patch of 9 x 9 with 7 units; 11 images.
    "patches": (10 * 11 * 81 * 81 * 7, 3 * 81 * 81 * 7 + 3 * 11 * 81 * 7 + 4 * 11 * 33 * 33),
    "autoencoder": (5 * VHB, 5 * VH + B * (8 * V + 6 * H)),
    "mlp": net(181, 167, 193, 163),
    "dbn": pretrained(6, 12, 181, 193, 163, 167),
    "sda": pretrained(8, 6, 181, 193, 163, 167),
    "softmax_regression": (2 * 2 * B * VH, 3 * VH + B * (2 * V + 4 * H + 3 * H)),
    # 173 examples in mini-batches of 163; 167 classes.
    "softmax_cost": (2 * 2 * 173 * V * 167, 173 * (2 * V + 5 * 167 + 2) + 3 * 173 / 163 * V * 167),
    # 53 inputs, 37 hidden, 7 classes: no error below the first layer; parameters and changes read and written.
    "data_parallel": (2 * 31 * (2 * 53 * 37 + 3 * 37 * 7), 4 * (53 * 37 + 37 + 37 * 7 + 7) + 2 * 31 * 53),
    # Examples of 169 pixels, coefficients of 181 bases; these before and after; two square matrices.
    **dict.fromkeys(
        ("sparse_parallel", "sparse_descent", "sparse_feature_sign", "sparse_published"),
        (None, 163 * (169 + 181) + 2 * 181 * (169 + 181)),
    ),
    **dict.fromkeys(("vector_sum", "vector_sum_copied"), (70001, 3 * 70001)),
    "saxpy": (2 * 70001, 3 * 70001),
    "memory_copy": (None, 2 * 70001),
    # 193 complex signals of 181 samples.
    "fft": (5 * 193 * 181 * math.log2(181), 2 * 2 * 193 * 181),
    # 1811 rows of 7 entries, each with its column; where rows begin; x and y.
    "spmv": (2 * 1811 * 7, 2 * 1811 * 7 + 1812 + 2 * 1811),
    "convolution": (2 * 25 * 181 * 193, 2 * 181 * 193 + 25),
    "sort": (None, 2 * 181),
    "monte_carlo": (None, 2 * 3),  # strikes and prices
    "copies": (None, 70001),  # over the bus, once
    "small_step": (None, 2 * 61 * 4096),
}


@pytest.mark.parametrize("name", [*workloads()])
def test_a_step_counts_what_a_person_writes_down(name: str) -> None:
    if name in {"convnet", "convnet_replicas", "program"}:
        pytest.skip("has too many layers, or nobody knows but its table")
    workload, (flops, numbers) = make_workload(case_of(name, "odd")), COUNTS[name]
    assert workload.flops() == (flops and pytest.approx(flops, rel=1e-9))
    assert workload.traffic_bytes() == pytest.approx(4 * numbers, abs=0.6)


def test_options_count_where_they_move_more() -> None:
    added = make_workload(case_of("matmul", "odd", alpha=0.8, beta=0.4))
    assert (added.flops(), added.memory_bytes()) == (COUNTS["matmul"][0], 4 * COUNTS["matmul"][1])
    assert added.traffic_bytes() == 4 * (COUNTS["matmul"][1] + 181 * 163)
    said = make_workload(Case("said", "program", {"program": {"paper": "", "command": ["true"]}, "flops": 7}))
    assert said.flops() == 7


@pytest.mark.parametrize(("side", "patch", "stride"), [(10, 4, 3), (9, 4, 3), (4, 8, 2)])
def test_patches_that_do_not_fit_say_what_must_divide_what(side: int, patch: int, stride: int) -> None:
    with pytest.raises(NotMeasurable, match=f"the stride {stride} must divide the side {side} and the patch {patch}"):
        make_workload(case_of("patches", "odd", side=side, patch=patch, stride=stride))
