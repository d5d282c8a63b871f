"""Mistakes that larger examples let pass, each made visible by the smallest one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.analysis.claims import Compared, judge_crossover, make_claims
from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import RATIO_LEVEL, Estimate, estimate_ratio, estimate_sum, level_among
from respeed.analysis.rounds import read_rounds, step_seconds
from respeed.inputs.papers import load_papers
from respeed.protocol import Block
from tests.derived import (
    ALL,
    GPU,
    NOISE,
    PAPERS,
    MakeRecord,
    claims_of,
    every_case,
    frames_of,
    noisy,
    of_case,
    one,
)

OTHERS = load_papers(["cnn-benchmarks", "lectures"])
BLOCK = Block(2, (0.2, 0.4, 0.6), (0.004, 0.004), 0.0, 1, 0, 0, 0)


def moved(records: list[dict[str, Any]], paper: str, experiment: str, case: str) -> list[dict[str, Any]]:
    """The records as of a case of another paper."""
    return of_case(records, OTHERS[paper], experiment, case, flops=None, traffic_bytes=1e9)


def test_the_median_of_a_round_has_its_parts_as_often_as_they_count() -> None:
    """Three samples of two steps: the parts take 1 and 3 tenths of each, and count ten times and once."""
    parts = ((0.05, 0.1, 0.15), (0.15, 0.3, 0.45))
    block = Block(2, BLOCK.sample_seconds, (0.004, 0.004), 0.0, 1, 0, 0, 0, part_seconds=parts)
    found = step_seconds([block], {"code": 10.0, "bases": 1.0})
    assert found["step_seconds_median"] == pytest.approx((10 * 0.1 + 0.3) / 2)
    assert found["step_seconds"] == pytest.approx(10 * 0.3 / 6 + 0.9 / 6)


def test_discarded_blocks_are_those_that_are_not_clean(make_record: MakeRecord) -> None:
    record = make_record([0.1])
    block = record["cases"][0]["blocks"][0]
    record["cases"][0]["blocks"] = [block, block, block | {"clock_throttles": 3}]
    (row,) = rows_of(read_rounds([record]))
    assert (row.blocks, row.discarded, row.causes) == (3, 1, "clocks throttled in 1")


def test_a_square_of_a_ladder_is_a_ceiling_by_all_of_its_steps(make_record: MakeRecord) -> None:
    record = make_record([0.5, 0.4], peak=1e9)
    record["cases"][0] |= {"workload": "matmul", "flops": 1e9}
    record["cases"][0]["blocks"][0]["sample_steps"] = 20
    (row,) = rows_of(read_rounds([record]))
    assert row.peak_gflops == pytest.approx(50)  # 20 products of 1 GFLOP in 0.4 s


@pytest.mark.parametrize(("share", "status"), [(1.03, "settled"), (1.1, "failed")])
def test_a_cell_fails_only_beyond_what_noise_does_to_a_peak(make_record: MakeRecord, share: float, status: str) -> None:
    records = noisy(make_record, 1.0, peak=1e9 / share)
    assert one(list(rows_of(frames_of(records).cells)), "torch-1").status == status


def test_a_gpu_is_no_rival_of_the_fastest_cpu_row(make_record: MakeRecord) -> None:
    rows = [*noisy(make_record, 0.1), *noisy(make_record, 0.11, **ALL)]
    for name in ("gpu", "gpu-2", "gpu-3"):
        rows += noisy(make_record, 0.105, **GPU | {"profile": name})
    found = {row.profile: row.confidence for row in rows_of(frames_of(rows).speedups) if row.speedup}
    assert found["gpu"] == RATIO_LEVEL
    assert found["torch-all"] == level_among(2)


def test_a_row_stands_beside_the_speedup_of_the_fastest_published_row(make_record: MakeRecord) -> None:
    """Many rows on GPUs were published: 8495 ms over the Titan X's 128.62 ms is not the fastest of them."""
    records = moved(noisy(make_record, 0.1, **GPU), "cnn-benchmarks", "nets", "vgg-16")
    (row,) = (
        row for row in rows_of(frames_of(records, OTHERS).speedups) if (row.case, row.profile) == ("vgg-16", "gpu")
    )
    assert row.published == pytest.approx(8495.48 / 128.14)


def test_a_crossover_is_where_all_later_cases_are_faster_not_the_first_that_is() -> None:
    cases = [
        Compared(name, here=Estimate(x, 0.97 * x, 1.03 * x)) for name, x in zip("abcd", (0.1, 2, 0.5, 9), strict=True)
    ]
    assert judge_crossover(cases) == ("reproduced", "faster from d on")


def test_of_several_numbers_the_widest_interval_is_shown(make_record: MakeRecord) -> None:
    cpu = every_case(make_record, 1.0, **ALL)
    gpu = every_case(make_record, 0.01, **GPU)
    for record in gpu:
        if record["cases"][0]["case"] == "2304x16000":  # another noise in each round, twice as large
            block = record["cases"][0]["blocks"][0]
            block["sample_seconds"] = [0.01 * (time / 0.01) ** 8 for time in block["sample_seconds"]]
    made = frames_of([*cpu, *gpu])
    rows = rows_of(make_claims(made.cells, made.samples, PAPERS))
    whole, *cases = (row for row in rows if row.claim == "rbm-speedup")
    widths = {row.here.split("±")[1] for row in cases}
    assert len(widths) > 1
    assert whole.here.split("±")[1] == max(widths, key=lambda text: float(text.split()[0]))


def test_each_case_of_a_claim_about_limits_pays_for_the_others(make_record: MakeRecord) -> None:
    """Four numbers of threads, each over one thread."""
    records = []
    for threads, case in enumerate(("1-core", "2-cores", "4-cores", "8-cores", "16-cores"), start=1):
        records += moved(noisy(make_record, 1.0 / threads, **ALL), "lectures", "cores-sum", case)
    made = frames_of(records, OTHERS)
    rows = rows_of(make_claims(made.cells, made.samples, OTHERS))
    found = next(row for row in rows if (row.claim, row.case) == ("cores-sum", "2-cores"))
    ratio = estimate_ratio({0: np.array(NOISE)}, {0: np.array(NOISE) / 2}, 1 - (1 - RATIO_LEVEL) / 4)[0]
    assert (found.speedup_low, found.speedup_high) == pytest.approx((ratio.low, ratio.high))


def test_cells_of_one_process_are_slow_together_in_the_interval_of_their_sum() -> None:
    """What all cells of a round share does not average out over cells."""
    draw = np.random.default_rng(1)
    noise = np.exp(draw.normal(0, 0.05, 12))
    shared = [{case: dict(enumerate(noise)) for case in "abcdefgh"}]
    apart = [{case: dict(enumerate(draw.permutation(noise)))} for case in "abcdefgh"]
    widths = [one.high / one.low - 1 for one in map(estimate_sum, (shared, apart)) if one.high and one.low]
    assert widths[0] > 2 * widths[1]


def test_a_row_that_lacks_a_case_of_a_total_is_not_the_fastest_of_it(make_record: MakeRecord) -> None:
    """The second GPU's row has only one of the network's cases, and would take a tenth of the time."""
    fast = GPU | {"profile": "gpu-tf32"}
    rows = [
        *every_case(make_record, 1.0, **ALL),
        *every_case(make_record, 0.1, **GPU),
        *(one for one in every_case(make_record, 0.01, **fast) if one["cases"][0]["case"] == "4096x11008"),
    ]
    assert claims_of(rows)["network"].profile == "gpu"


@given(st.floats(0.01, 100), st.floats(0, 0.5), st.floats(0, 0.5), st.floats(0.01, 100))
def test_an_interval_stays_around_its_number_whichever_way_it_is_turned(
    value: float, below: float, above: float, number: float
) -> None:
    found = Estimate(value, value * (1 - below), value * (1 + above))
    for turned in (found.over(number), found.times(number), found.over(1).over(1)):
        assert turned.low * (1 - 1e-12) <= turned.value <= turned.high * (1 + 1e-12)
