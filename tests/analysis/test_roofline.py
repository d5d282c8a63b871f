"""Rooflines: each case under the roof of its own profile, the paper's under the paper's."""

from collections.abc import Mapping
from dataclasses import replace
from math import isclose
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.analysis.columns import rows_of
from respeed.analysis.roofline import (
    ROOF,
    corners,
    hardware_roofs,
    make_roofline,
    paper_roofs,
    roof_at,
)
from respeed.inputs.papers import load_papers
from respeed.model.paper import Paper
from tests.derived import PAPER, PAPERS, MakeRecord, changed, frames_of, seven

positive = st.floats(1e-3, 1e9)


def derive(records: list[dict[str, Any]], papers: Mapping[str, Paper] = PAPERS) -> list[Any]:
    cells = frames_of(records).cells
    return list(rows_of(make_roofline(cells, papers)))


def roof(peak: float, bandwidth: float, profile: str = "one") -> dict[str, Any]:
    row = {"peak_gflops": peak, "bandwidth_gbytes": bandwidth, "profile": profile, "architecture": "single-cpu"}
    return dict.fromkeys(ROOF, "") | row


@given(positive, positive, positive)
def test_a_roof_is_the_lower_of_peak_and_memory_and_bends_at_the_ridge(
    peak: float, bandwidth: float, intensity: float
) -> None:
    one = SimpleNamespace(**roof(peak, bandwidth))
    assert roof_at(one, intensity) in {peak, intensity * bandwidth}
    assert roof_at(one, intensity) <= peak
    assert roof_at(one, intensity) <= intensity * bandwidth
    assert isclose(roof_at(one, peak / bandwidth), peak, rel_tol=1e-12)


def test_the_line_to_draw_has_a_corner_at_the_ridge_if_that_is_within() -> None:
    one = SimpleNamespace(**roof(100, 10))
    assert corners(one, 1, 1000) == [(1, 10), (10, 100), (1000, 100)]
    assert corners(one, 20, 1000) == [(20, 100), (1000, 100)]


def test_ceilings_of_two_sessions_are_each_rounds_own(make_record: MakeRecord) -> None:
    """Two rounds on a slow day, five on a fast one: the median of the rounds' ceilings, not the highest of any day."""
    records = seven(make_record, 0.1, peak=2e11)
    for record in records[:2]:
        record["started"] = "2026-01-03T00:00:00+00:00"
        record["ceilings"]["flops_per_second"] = 9e11
    (point,) = [point for point in derive(records) if point.machine == "box"]
    assert point.peak_gflops == pytest.approx(200)


@pytest.mark.parametrize(
    ("facts", "traffic", "theirs", "intensities"),
    [
        ({"profile": "openblas-1-fp64", "precision": "fp64"}, 4e7, "fp32", {"paper": 50, "box": 25}),
        ({}, 2e7, "fp64", {"paper": 25, "box": 50}),
    ],
)
def test_an_intensity_is_that_of_the_precision_of_its_row(
    make_record: MakeRecord, facts: dict[str, Any], traffic: float, theirs: str, intensities: dict[str, float]
) -> None:
    records = seven(make_record, 0.1, **facts)
    for record in records:
        record["cases"][0]["traffic_bytes"] = traffic
    paper = replace(PAPER, rows=tuple(changed(row, precision=theirs) for row in PAPER.rows))
    points = derive(records, {PAPER.name: paper})
    assert {point.machine: point.intensity for point in points} == pytest.approx(intensities)
    assert {point.precision for point in points if point.machine == "paper"} == {theirs}


@pytest.mark.parametrize(
    ("fields", "ceilings", "there"),
    [({"flops": None}, {}, set()), ({}, {"ceilings": None}, {"paper"})],
    ids=["a case without a FLOP count is left out", "without ceilings only the paper's cases are there"],
)
def test_what_is_not_known_has_no_place(
    make_record: MakeRecord, fields: dict[str, Any], ceilings: dict[str, Any], there: set[str]
) -> None:
    records = seven(make_record, 0.1)
    for record in records:
        record["cases"][0] |= fields
        record |= ceilings
    assert {point.machine for point in derive(records)} == there


def test_programs_of_one_device_share_a_roof_that_is_called_by_the_device() -> None:
    paper = load_papers(["bergstra2010"])["bergstra2010"]
    assert len(paper_roofs(paper)) == 9
    assert list(hardware_roofs(paper)["label"]) == [
        "Theano, single precision, 2010",
        "one core at 3.16 GHz, double precision, 2010",
        "GeForce GTX 285, 2010",
    ]
    roofs = ["one core at 3.16 GHz, 2009", "two cores at 3.16 GHz, 2009", "GPU, 2009"]
    assert list(hardware_roofs(PAPER)["label"]) == roofs
