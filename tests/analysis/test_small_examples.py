"""Mistakes that larger examples let pass, each made visible by the smallest one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.analysis.claims import Compared, judge_crossover
from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import RATIO_LEVEL, Estimate, estimate_ratio, estimate_sum, level_among
from respeed.analysis.rounds import step_seconds
from respeed.inputs.papers import load_papers
from respeed.protocol import Block
from tests.derived import (
    ALL,
    GPU,
    NOISE,
    PAPER,
    case_of,
    claims_of,
    every_case,
    frames_of,
    noisy,
    one,
    seven,
)

OTHERS = load_papers(["cnn-benchmarks", "lectures"])
BLOCK = Block(2, (0.2, 0.4, 0.6), (0.004, 0.004), 0.0, 1, 0, 0, 0)


def test_the_median_of_a_round_has_its_parts_as_often_as_they_count() -> None:
    """Three samples of two steps: the parts take 1 and 3 tenths of each, and count ten times and once."""
    parts = ((0.05, 0.1, 0.15), (0.15, 0.3, 0.45))
    block = Block(2, BLOCK.sample_seconds, (0.004, 0.004), 0.0, 1, 0, 0, 0, part_seconds=parts)
    found = step_seconds([block], {"code": 10.0, "bases": 1.0})
    assert found["step_seconds_median"] == pytest.approx((10 * 0.1 + 0.3) / 2)
    assert found["step_seconds"] == pytest.approx(10 * 0.3 / 6 + 0.9 / 6)


@pytest.mark.parametrize(("share", "status"), [(1.03, "settled"), (1.1, "failed")])
def test_a_cell_fails_only_beyond_what_noise_does_to_a_peak(share: float, status: str) -> None:
    records = noisy(1.0, peak=1e9 / share)
    assert one(list(rows_of(frames_of(records).cells)), "torch-1").status == status


def test_a_gpu_is_no_rival_of_the_fastest_cpu_row() -> None:
    rows = [*noisy(0.1), *noisy(0.11, **ALL)]
    for name in ("gpu", "gpu-2", "gpu-3"):
        rows += noisy(0.105, **GPU | {"profile": name})
    found = {row.profile: row.confidence for row in rows_of(frames_of(rows).speedups) if row.speedup}
    assert found["gpu"] == RATIO_LEVEL
    assert found["torch-all"] == level_among(2)


def test_a_row_stands_beside_the_speedup_of_the_fastest_published_row() -> None:
    """Many rows on GPUs were published: 8495 ms over the Titan X's 128.62 ms is not the fastest of them."""
    records = noisy(0.1, case=case_of("nets", "vgg-16", paper=OTHERS["cnn-benchmarks"]), **GPU)
    rows = rows_of(frames_of(records, OTHERS).speedups)
    (row,) = (row for row in rows if (row.case, row.profile) == ("vgg-16", "gpu"))
    assert row.published == pytest.approx(8495.48 / 128.14)


def test_a_crossover_is_where_all_later_cases_are_faster_not_the_first_that_is() -> None:
    cases = [
        Compared(name, here=Estimate(x, 0.97 * x, 1.03 * x)) for name, x in zip("abcd", (0.1, 2, 0.5, 9), strict=True)
    ]
    assert judge_crossover(cases) == ("reproduced", "faster from d on")


def test_of_several_numbers_the_widest_interval_is_shown() -> None:
    """One case with another noise in each round, twice as large."""
    tables = [name for name in PAPER.experiments if name != "rbm"]
    wild = seven([0.01 * noise**8 for noise in NOISE], case="2304x16000", **GPU)
    calm = [one for one in every_case(0.01, *tables, **GPU) if one.results[0].key != wild[0].results[0].key]
    found = claims_of([*every_case(1.0, *tables, **ALL), *calm, *wild])
    whole, *cases = (row for (claim, _), row in found.items() if claim == "rbm-speedup")
    widths = {row.here.split("±")[1] for row in cases}
    assert len(widths) > 1
    assert whole.here.split("±")[1] == max(widths, key=lambda text: float(text.split()[0]))


def test_each_case_of_a_claim_about_limits_pays_for_the_others() -> None:
    """Four numbers of threads, each over one thread."""
    names = ("1-core", "2-cores", "4-cores", "8-cores", "16-cores")
    cases = [case_of("cores-sum", name, paper=OTHERS["lectures"]) for name in names]
    facts = ALL | {"flops": None, "traffic_bytes": 1e9}
    records = [one for threads, case in enumerate(cases, start=1) for one in noisy(1.0 / threads, case=case, **facts)]
    found = claims_of(records, OTHERS)["cores-sum", "2-cores"]
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


def test_a_row_that_lacks_a_case_of_a_total_is_not_the_fastest_of_it() -> None:
    """The second GPU's row has only one of the network's cases, and would take a tenth of the time."""
    fast = noisy(0.01, case="4096x11008", **GPU | {"profile": "gpu-tf32"})
    found = claims_of([*every_case(1.0, **ALL), *every_case(0.1, **GPU), *fast])
    assert found["network", ""].profile == "gpu"


@given(st.floats(0.01, 100), st.floats(0, 0.5), st.floats(0, 0.5), st.floats(0.01, 100))
def test_an_interval_stays_around_its_number_whichever_way_it_is_turned(
    value: float, below: float, above: float, number: float
) -> None:
    found = Estimate(value, value * (1 - below), value * (1 + above))
    for turned in (found.over(number), found.times(number), found.over(1).over(1)):
        assert turned.low * (1 - 1e-12) <= turned.value <= turned.high * (1 + 1e-12)
