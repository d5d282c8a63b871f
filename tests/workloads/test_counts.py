"""The operations and bytes of a step, which rates, rooflines and memory's share follow from: for every workload the sum
as a person writes it down for one small case, and what torch's own operations do, counted while a step runs."""

import pytest
from torch.utils.flop_counter import FlopCounterMode

from respeed.inputs.papers import load_papers
from respeed.inputs.registry import workloads
from respeed.model.paper import Case
from respeed.workloads import make_workload
from tests.conformance.programs import build, case_of, make

# Visible 37, hidden 53, batch 29: a product of all three, and the arrays between.
VHB, VH = 2 * 37 * 53 * 29, 37 * 53
# A net of 37, 53, 53, 53 and 7 units: the weights of its layers, in multiplications an example.
FIRST, MIDDLE, LAST = 37 * 53, 53 * 53, 53 * 7
# Its forward, gradient and, but for the first layer, error: two, three, three products.
NET = 2 * 29 * (2 * FIRST + 3 * (2 * MIDDLE + LAST))
# Weights read forward and backward (the first: forward only) and read and written by the update; outputs written, read
# by the next layer, its slope and its gradient; errors written, read by gradient, bias and the layer beneath.
NET_NUMBERS = (
    3 * FIRST + 4 * (2 * MIDDLE + LAST) + 29 * (2 * 37 + 4 * (3 * 53 + 7) + 3 * 53 + 4 * (2 * 53 + 7))
)  # fmt: skip
# A layer that learns, and a mini-batch handed up through those below: weights, units below and above.
RBM_NUMBERS = 5 * VH + 29 * (6 * 37 + 12 * 53), 5 * MIDDLE + 29 * (6 * 53 + 12 * 53)
CODER_NUMBERS = 5 * VH + 29 * (8 * 37 + 6 * 53), 5 * MIDDLE + 29 * (8 * 53 + 6 * 53)
UP_FIRST, UP_MIDDLE = FIRST + 29 * (37 + 53), MIDDLE + 29 * (53 + 53)
# Two epochs of three layers, the second and third fed through one and two layers; three epochs of the net.
PRETRAINED = 2 * (5 * VHB + (5 * 2 * MIDDLE * 29 + VHB) + (5 * 2 * MIDDLE * 29 + VHB + 2 * MIDDLE * 29)) + 3 * NET


def pretrained_numbers(first: int, middle: int) -> int:
    return 2 * (first + (middle + UP_FIRST) + (middle + UP_FIRST + UP_MIDDLE)) + 3 * NET_NUMBERS


# Of a batch of 31: 49 pixels, 37 bases; examples, coefficients, bases before and after, two square matrices.
SPARSE_NUMBERS = 31 * 49 + 31 * 37 + 2 * 37 * 49 + 2 * 37 * 37

# Workload: operations of a step (None where nobody can say beforehand), and bytes, of its "odd" case.
COUNTS: dict[str, tuple[float | None, int]] = {
    "matmul": (2 * 37 * 53 * 29, 4 * (37 * 53 + 53 * 29 + 37 * 29)),
    # 5 % of 37 x 53 entries, each with its column; where the 37 rows begin; B and C.
    "sparse_matmul": (2 * 98 * 29, 8 * 98 + 4 * (38 + 53 * 29 + 37 * 29)),
    # LU, 2/3 n^3, and the inverse of it, 4/3 n^3; a matrix read, a matrix written.
    "inverse": (2 * 67**3, 4 * 2 * 67**2),
    # 5/2 N log2 N; N numbers to N/2 + 1 complex ones.
    "fft": (29 * 2.5 * 37 * 5.2094533656, 29 * 4 * (37 + 2 * 19)),
    "rbm": (5 * VHB, 4 * RBM_NUMBERS[0]),
    "rbm_up": (VHB, 4 * UP_FIRST),
    # One Gibbs step from the chain, and the data's half: W five times; v0, h0, both layers' gradient, and samples.
    "rbm_pcd": (5 * VHB, 4 * (5 * VH + 29 * (4 * 37 + 4 * 53 + 3 * 37 + 3 * 53))),
    "cd1_products": (31 * 5 * VHB, 31 * 4 * (4 * VH + 29 * (5 * 37 + 5 * 53))),
    # 9 x 9 places in an image of 33 x 33, each a patch of 9 x 9 with 7 units; 11 images.
    "patches": (10 * 11 * 81 * 81 * 7, 4 * (3 * 81 * 81 * 7 + 3 * 11 * 81 * 7 + 4 * 11 * 33 * 33)),
    "autoencoder": (5 * VHB, 4 * CODER_NUMBERS[0]),
    "mlp": (NET, 4 * NET_NUMBERS),
    "dbn": (PRETRAINED, 4 * pretrained_numbers(*RBM_NUMBERS)),
    "sda": (PRETRAINED, 4 * pretrained_numbers(*CODER_NUMBERS)),
    # Forward and gradient; weights read, read and written; examples twice; outputs and errors four and three times.
    "softmax_regression": (2 * 2 * 29 * 37 * 7, 4 * (3 * 37 * 7 + 29 * (2 * 37 + 4 * 7 + 3 * 7))),
    # 139 examples in mini-batches of 29, which is 4.79 of them.
    "softmax_cost": (2 * 2 * 139 * 37 * 7, round(4 * (139 * (2 * 37 + 5 * 7 + 2) + 3 * 139 / 29 * 37 * 7))),
    # 53 inputs, 37 hidden, 7 classes: no error below the first layer; parameters and changes read and written.
    "data_parallel": (2 * 31 * (2 * 53 * 37 + 3 * 37 * 7), 4 * (4 * (53 * 37 + 37 + 37 * 7 + 7) + 2 * 31 * 53)),
    **{f"sparse_{how}": (None, 4 * SPARSE_NUMBERS) for how in ("parallel", "descent", "feature_sign", "published")},
    "vector_sum": (70001, 4 * 3 * 70001),
    "vector_sum_copied": (70001, 4 * 3 * 70001),
    "saxpy": (2 * 70001, 4 * 3 * 70001),
    "memory_copy": (None, 4 * 2 * 70001),
    "copies": (None, 4 * 70001),  # over the bus, once
    "small_step": (None, 4 * 2 * 3),
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


def test_every_workload_has_its_counts_here() -> None:
    # What a program of somebody else's does, nobody knows but its table.
    assert {*COUNTS, "convnet", "convnet_replicas", "program"} == set(workloads())


@pytest.mark.parametrize("name", COUNTS)
def test_a_step_counts_what_a_person_writes_down(name: str) -> None:
    workload = make_workload(case_of(name, "odd"))
    flops, moved = COUNTS[name]
    assert workload.flops() == (flops and pytest.approx(flops, rel=1e-9))
    assert workload.traffic_bytes() == pytest.approx(moved, abs=0.6)


def test_options_count_where_they_move_more() -> None:
    added = make_workload(case_of("matmul", "odd", alpha=0.8, beta=0.4))
    assert (added.flops(), added.traffic_bytes()) == (COUNTS["matmul"][0], COUNTS["matmul"][1] + 4 * 37 * 29)
    assert added.memory_bytes() == COUNTS["matmul"][1]
    streamed = make_workload(case_of("rbm", "odd", examples="streamed"))
    assert (streamed.flops(), streamed.traffic_bytes()) == (5 * VHB, 4 * (RBM_NUMBERS[0] + 29 * 37))
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
