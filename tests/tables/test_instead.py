"""What a machine says of a claim that it cannot test."""

from typing import Any

import pytest

from respeed.numbers import format_duration
from tests.tables.derived import ALL, MakeRecord, claims_of, every_case, seven, sparse_coding_on_a_cpu, their_total

ONE = {"profile": "torch-1", "architecture": "single-cpu"}


def of_one_column(make_record: MakeRecord) -> list[dict[str, Any]]:
    # Of the paper's first column: its GPU takes 38.6 s for 5208.3 steps, its dual core 497 s.
    return [
        *seven(make_record, [38.6 / 5208.3] * 7, **ALL),
        *seven(make_record, [2 * 38.6 / 5208.3] * 7, **ONE),
    ]


def test_the_fastest_cpu_row_stands_beside_the_papers_rows(make_record: MakeRecord) -> None:
    instead = claims_of(of_one_column(make_record))["rbm-speedup"].instead
    assert instead == (
        "The fastest CPU program here takes 1.0x the time of the paper's GPU (GeForce GTX 280), and is 13x as fast "
        "as its CPU (two cores at 3.16 GHz)."
    )


def test_growth_is_not_spoken_of_where_a_single_case_was_measured(make_record: MakeRecord) -> None:
    assert claims_of(of_one_column(make_record))["rbm-growth"].instead == ""


def test_beside_each_row_of_the_paper_stands_the_algorithm_that_it_ran(make_record: MakeRecord) -> None:
    found = claims_of(sparse_coding_on_a_cpu(make_record))
    assert "each time with the algorithm that the paper ran there" in found["sparse-coding-speedup"].instead
    # The better algorithm, which the paper has not, is 400 times as fast and would take 0.00.
    # Five batches: five steps of 0.4 s, where the paper's GPU takes 37.0, 41.5 and 55.8 s.
    assert "takes 0.036 to 0.054 of the time" in found["sparse-coding-speedup"].instead
    # Five steps of 0.5 s, where its CPU takes 191 to 854 s.
    assert "is 76x to 342x as fast as its CPU" in found["sparse-coding-speedup"].instead


def test_without_a_count_of_operations_growth_is_said_in_times(make_record: MakeRecord) -> None:
    records = sparse_coding_on_a_cpu(make_record)
    for record in records:
        ran = record["cases"][0]
        ran["flops"] = None
        if ran["case"] == "10-percent":
            ran["blocks"][0]["sample_seconds"] = [3 * time for time in ran["blocks"][0]["sample_seconds"]]
    assert claims_of(records)["sparse-coding-growth"].instead == (
        "From 3% to 10% the time of the paper's CPU algorithm grows by a factor of 3.00 here, of 4.47 there."
    )


def test_of_the_network_the_fastest_row_stands_beside_the_faster_of_the_papers_cpus(make_record: MakeRecord) -> None:
    records = [*every_case(make_record, 0.1, **ALL), *every_case(make_record, 0.5, **ONE)]
    instead = claims_of(records)["network"].instead
    days = their_total(make_record, "multi-cpu") / their_total(make_record, "gpu")
    assert days > 1
    assert f"({format_duration(days * 86400)} for its CPU, both at their own rates)" in instead
    assert instead.endswith("here (label of torch-all).")


@pytest.mark.parametrize("name", ["rbm-speedup", "rbm-largest", "rbm-growth", "network", "second-core"])
def test_nothing_is_said_where_nothing_was_measured(make_record: MakeRecord, name: str) -> None:
    disturbed = [make_record([0.1, 0.1], index=index, run_delay=1.0, **ALL) for index in range(1, 8)]
    assert claims_of(disturbed)[name].instead == ""
