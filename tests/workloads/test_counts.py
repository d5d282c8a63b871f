"""The operations and bytes of a step, which rates, rooflines and memory's share follow from: for every workload the sum
as a person writes it down. And what each says of itself."""

import math
from pathlib import Path
from typing import Any

import pytest

from respeed.errors import NotMeasurable
from respeed.inputs.registry import backends, runs, workloads
from respeed.model import Case
from respeed.workloads import make_workload
from tests.conformance.programs import ODD, Place, at, build, case_of, make, places
from tests.known import assert_known

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


def counts_of(case: Case) -> tuple[float | None, float, float]:
    workload = make_workload(case)
    return workload.flops(), workload.traffic_bytes(), workload.memory_bytes()


def test_options_count_where_they_move_more() -> None:
    flops, numbers = COUNTS["matmul"]
    added = counts_of(case_of("matmul", "odd", alpha=0.8, beta=0.4))
    assert added == (flops, 4 * (numbers + 181 * 163), 4 * numbers)
    assert counts_of(Case("said", "program", {"program": {}, "flops": 7})) == (7, 0, 0)
    # Replicas count as often as there are; a mini-batch of 2 x 31 examples is one of 31 for each.
    one, two = (counts_of(case_of("data_parallel", "odd", batch=31 * n, replicas=n)) for n in (1, 2))
    assert two == tuple(2 * count for count in one)
    # 4 mini-batches, parameters and changes; units and errors of 31 examples.
    assert one[2] == 4 * (4 * 31 * 53 + 2 * (54 * 37 + 38 * 7) + 2 * 31 * (37 + 7))
    several = case_of("convnet_replicas", "smoke", batch=8, replicas=2)
    alone = {name: value for name, value in several.parameters.items() if name != "replicas"}
    flops, traffic, memory = counts_of(Case("alone", "convnet", {**alone, "batch": 4}))
    assert counts_of(several) == (flops and 2 * flops, 2 * traffic, memory)


def memory_of(some: Any) -> dict[int, int]:
    if isinstance(some, list | tuple):
        return {where: count for one in some for where, count in memory_of(one).items()}
    is_sparse = "sparse" in str(getattr(some, "layout", ""))
    whole = (some.values(), some.crow_indices(), some.col_indices()) if is_sparse else (some,)
    rooms = [one.untyped_storage() for one in whole if hasattr(one, "data_ptr")]
    return {room.data_ptr(): room.nbytes() for room in rooms}


# They count what a step takes besides, or have arrays elsewhere.
OTHERS = {"convnet", "convnet_replicas", "data_parallel", "patches", "copies"}


@at([case for case in ODD if case.workload not in OTHERS], places("fp32", on="cpu", of=["torch"]))
def test_counted_memory_is_that_of_the_arrays(place: Place, case: Case) -> None:
    """The memory that is counted is that of a program's arrays."""
    program = build(make(*place), case)
    kept = sum(memory_of([*vars(program.arrays).values()]).values())
    assert program.workload.memory_bytes() == pytest.approx(kept, rel=4e-3)


SAID = ("captured", "whole_pass", "by_autograd", "one_thread", "state", "cycled", "handed_on", "read", "threads")


def said() -> str:
    lines = [f"{name}: {' '.join(facts.devices)}" for name, facts in backends().items()]
    for name, facts in sorted(workloads().items()):
        every = {of: [one for one in its.precisions if runs(name, of, one)] for of, its in backends().items()}
        where = [f"{of} {' '.join(some)}" for of, some in every.items() if some]
        made = make_workload(case_of(name, "smoke"))
        takes = [f"{key}: {kind}" for key, kind in facts.parameters.items()]
        usual = {key: getattr(type(made), key) for key in facts.options}
        takes += [f"{key}: {facts.options[key]}, else {value!r}" for key, value in usual.items() if not callable(value)]
        says = {key: value for key in SAID if name != "convnet" and (value := getattr(made, key))}
        says |= {"products": facts.products, "allocates": facts.allocates}
        lines += [f"{name}: {', '.join(where)}\n    {'; '.join(takes)}\n    {says}"]
    return "\n".join([*lines, ""])


@pytest.mark.known
def test_every_workload_runs_as_before() -> None:
    """Every workload runs where it did takes what it did and says so."""
    assert_known(Path(__file__).with_name("facts.txt"), said())


@pytest.mark.parametrize(("side", "patch", "stride"), [(10, 4, 3), (9, 4, 3), (4, 8, 2)])
def test_misfit_patches_say_what_must_divide(side: int, patch: int, stride: int) -> None:
    with pytest.raises(NotMeasurable, match=f"the stride {stride} must divide the side {side} and the patch {patch}"):
        make_workload(case_of("patches", "odd", side=side, patch=patch, stride=stride))
