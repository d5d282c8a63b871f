"""Tables as CSV."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.tables import cells, speedups
from respeed.tables.write import FORMULA, write_published, write_tidy
from respeed.text import printable
from tests.tables.derived import MakeRecord, derive, seven, table_of


def test_tidy_tables_have_exactly_their_columns(make_record: MakeRecord, tmp_path: Path) -> None:
    made, ratios = derive(seven(make_record, [0.1] * 7))
    write_tidy(tmp_path / "cells.csv", cells.COLUMNS, made)
    write_tidy(tmp_path / "speedups.csv", speedups.COLUMNS, ratios)
    assert (tmp_path / "cells.csv").read_text().splitlines()[0] == (
        "machine,paper,experiment,case,algorithm,profile,architecture,package,precision,seconds,seconds_low,"
        "seconds_high,rounds,discarded,status,reason,gflops,peak_share,error,published_seconds,published_row,"
        "seconds_median,sessions,"
        "measured_in"
    )
    assert (tmp_path / "speedups.csv").read_text().splitlines()[0] == (
        "machine,paper,experiment,case,algorithm,profile,precision,base_algorithm,base_profile,speedup,speedup_low,"
        "speedup_high,published,published_precisions,verdict,reason,confidence"
    )


@dataclass(frozen=True)
class Labelled:
    label: str
    number: float


@given(st.text(st.characters()), st.floats(allow_nan=False, allow_infinity=False))
def test_any_text_comes_back_from_a_csv_and_no_formula_does(
    tmp_path_factory: pytest.TempPathFactory, text: str, number: float
) -> None:
    path = tmp_path_factory.getbasetemp() / "labels.csv"
    write_tidy(path, ("label", "number"), [Labelled(text, number)])
    _, (label, back) = csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline=""))
    assert label.removeprefix("'") == printable(text).removeprefix("'")
    assert not label.lstrip().startswith(FORMULA)
    assert float(back) == pytest.approx(number, rel=1e-8)


def test_what_a_spreadsheet_would_compute_comes_out_as_text(make_record: MakeRecord, tmp_path: Path) -> None:
    records = seven(make_record, [0.1] * 7, profile="evil")
    for record in records:
        record["profile"]["label"] = "=1+1\x00\ud800"
    write_published(tmp_path, table_of(records), "")
    assert ",'=1+1," in (tmp_path / "rbm.csv").read_text()


def test_the_same_records_give_the_same_bytes(make_record: MakeRecord, tmp_path: Path) -> None:
    for name in ("first", "second"):
        write_published(tmp_path / name, table_of(seven(make_record, [0.1] * 7)), "")
    for ending in ("csv", "md", "tex"):
        first, second = ((tmp_path / name / f"rbm.{ending}").read_bytes() for name in ("first", "second"))
        assert first == second
