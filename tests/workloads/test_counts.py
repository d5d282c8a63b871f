"""The operations and bytes of a step, which rates, rooflines and memory's share follow from: for every workload the sum
as a person writes it down for its "odd" case, and what torch's own operations do, counted while a step runs."""

import pytest
from torch.utils.flop_counter import FlopCounterMode

from respeed.inputs.papers import load_papers
from respeed.inputs.registry import workloads
from respeed.model import Case
from respeed.workloads import make_workload
from tests.conformance.programs import build, case_of, make

# A product of all three, and the numbers of a matrix of weights.
V, H, C, B = 181, 193, 167, 163
VHB, VH = 2 * V * H * B, V * H
# A net of V, H, H, H and C units: two products of its first layer, three of the others. Of weights and outputs four
# uses each (of the first layer's weights three), of errors four, below the first layer's three; examples twice.
NET = B * (4 * VH + 6 * (2 * H * H + H * C))
NET_NUMBERS = 3 * VH + 4 * (2 * H * H + H * C) + B * (2 * V + 4 * (3 * H + C) + 3 * H + 4 * (2 * H + C))
# Learners of the first layer and of one above; a mini-batch that is handed up by either.
RBM_NUMBERS = 5 * VH + B * (6 * V + 12 * H), 5 * H * H + B * 18 * H
CODER_NUMBERS = 5 * VH + B * (8 * V + 6 * H), 5 * H * H + B * 14 * H
UP = VH + B * (V + H), H * H + B * 2 * H
# Two epochs of three layers, the second and third fed through one and two layers; three epochs of the net.
PRETRAINED = 2 * (5 * VHB + 2 * (VHB + 10 * B * H * H) + 2 * B * H * H) + 3 * NET


def pretrained_numbers(first: int, middle: int) -> int:
    return 2 * (first + (middle + UP[0]) + (middle + UP[0] + UP[1])) + 3 * NET_NUMBERS


# Operations of a step (None where nobody can say beforehand), and the numbers of 4 bytes that it reads and writes.
COUNTS: dict[str, tuple[float | None, float]] = {
    "matmul": (2 * 181 * 193 * 163, 181 * 193 + 193 * 163 + 181 * 163),
    # 5 % of 37 x 53 entries, each with its column; where the 37 rows begin; B and C.
    "sparse_matmul": (2 * 98 * 29, 2 * 98 + 38 + 53 * 29 + 37 * 29),
    "inverse": (2 / 3 * 67**3 + 4 / 3 * 67**3, 2 * 67**2),
    "rbm": (5 * VHB, RBM_NUMBERS[0]),
    "rbm_up": (VHB, UP[0]),
    # The data's half and three Gibbs steps: W nine times; v0, v and h0, h; both layers' samples and probabilities.
    "rbm_pcd": (9 * VHB, 9 * VH + B * (4 * V + 4 * H + 3 * 3 * (V + H))),
    "cd1_products": (3 * 5 * VHB, 3 * (4 * VH + B * (5 * V + 5 * H))),
    # 9 x 9 places in an image of 33 x 33, each a patch of 9 x 9 with 7 units; 11 images.
    "patches": (10 * 11 * 81 * 81 * 7, 3 * 81 * 81 * 7 + 3 * 11 * 81 * 7 + 4 * 11 * 33 * 33),
    "autoencoder": (5 * VHB, CODER_NUMBERS[0]),
    "mlp": (NET, NET_NUMBERS),
    "dbn": (PRETRAINED, pretrained_numbers(*RBM_NUMBERS)),
    "sda": (PRETRAINED, pretrained_numbers(*CODER_NUMBERS)),
    "softmax_regression": (2 * 2 * B * V * C, 3 * V * C + B * (2 * V + 4 * C + 3 * C)),
    # 173 examples in mini-batches of 163.
    "softmax_cost": (2 * 2 * 173 * V * C, 173 * (2 * V + 5 * C + 2) + 3 * 173 / 163 * V * C),
    # 53 inputs, 37 hidden, 7 classes: no error below the first layer; parameters and changes read and written.
    "data_parallel": (2 * 31 * (2 * 53 * 37 + 3 * 37 * 7), 4 * (53 * 37 + 37 + 37 * 7 + 7) + 2 * 31 * 53),
    # Examples of 169 pixels, coefficients of 181 bases; these before and after; two square matrices.
    **dict.fromkeys(
        ("sparse_parallel", "sparse_descent", "sparse_feature_sign", "sparse_published"),
        (None, 163 * (169 + 181) + 2 * 181 * (169 + 181)),
    ),
    "vector_sum": (70001, 3 * 70001),
    "vector_sum_copied": (70001, 3 * 70001),
    "saxpy": (2 * 70001, 3 * 70001),
    "memory_copy": (None, 2 * 70001),
    "copies": (None, 70001),  # over the bus, once
    "small_step": (None, 2 * 61 * 4096),
}
# What a step does by products that torch does in this process; a convolutional net has too many layers to write down.
WITH_PRODUCTS = (
    "matmul", "rbm", "rbm_up", "rbm_pcd", "cd1_products", "patches", "autoencoder", "mlp", "dbn", "sda",
    "softmax_regression", "softmax_cost", "convnet",
)  # fmt: skip


def test_the_operations_of_a_papers_history_are_those_of_its_tables() -> None:
    for paper in load_papers().values():
        for name, work in paper.history.items():
            experiment = paper.experiments[name]
            for case in experiment.cases if work else ():
                assert experiment.steps(case) * (make_workload(case).flops() or 0) == work, case.name


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
    streamed = make_workload(case_of("rbm", "odd", examples="streamed"))
    assert (streamed.flops(), streamed.traffic_bytes()) == (5 * VHB, 4 * (RBM_NUMBERS[0] + B * V))
    said = make_workload(Case("said", "program", {"program": {"paper": "", "command": ["true"]}, "flops": 7}))
    assert said.flops() == 7


@pytest.mark.parametrize("name", WITH_PRODUCTS)
def test_a_step_counts_what_torch_counts(name: str) -> None:
    """Torch counts sums of rows too, which are products with ones: less than 2 % at these sizes."""
    program, counted = build(make("torch"), case_of(name, "odd")), 0.0
    weights = program.workload.parts()
    for part, run in program.parts.items():
        with FlopCounterMode(display=False) as counter:
            run()
        counted += weights.get(part, 1.0) * counter.get_total_flops()
    assert program.workload.flops() <= counted <= 1.02 * program.workload.flops()
