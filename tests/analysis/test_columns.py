"""The tidy tables as frames and as files."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import respeed
from respeed.analysis.build import make_tables
from respeed.analysis.columns import (
    FORMULA,
    load_table,
    rows_of,
    write_csv,
)
from respeed.analysis.tables import Cell, dtypes_of
from respeed.errors import UserError
from respeed.paths import results_folder
from respeed.text import printable
from tests.conftest import ROOT
from tests.derived import PAPERS, PROFILES, frame_of
from tests.made import write_machines


def is_formula(text: str) -> bool:
    return text.lstrip()[:1] in {*FORMULA, *"\uff1d\uff0b\uff0d\uff20"}


@settings(max_examples=15)  # each writes and reads a file
@given(st.text(st.characters(codec="utf-8")), st.floats(allow_infinity=False), st.none() | st.integers(0, 10**9))
@example("=1+1", 1.0, None)
@example("\uff1d1+1", 1.0, None)  # a full-width sign, which a spreadsheet takes as well
def test_a_table_survives_its_file_and_no_formula(
    tmp_path_factory: pytest.TempPathFactory, text: str, number: float, count: int | None
) -> None:
    """A table comes back from its file as it was and no text of it is a formula."""
    folder = tmp_path_factory.getbasetemp()
    row = dict.fromkeys(dtypes_of(Cell)) | {"label": text, "steps": number, "threads": count}
    written = frame_of([row], "cells")
    write_csv(written, folder / "cells.csv")
    # A text that has the apostrophe of a guarded one loses it.
    if not (text.startswith("'") and is_formula(text[1:])):
        pd.testing.assert_frame_equal(load_table("cells", folder), written.assign(label=[printable(text)]), rtol=1e-8)
    (label,) = pd.read_csv(folder / "cells.csv", dtype=str, keep_default_na=False)["label"]
    assert not is_formula(label)


def test_no_heading_of_a_table_is_a_formula(tmp_path: Path) -> None:
    write_csv(pd.DataFrame({"label": ["a"], '=HYPERLINK("http://x")': ["b"]}), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == 'label,"\'=HYPERLINK(""http://x"")"\na,b\n'


def test_missing_numbers_are_none_and_texts_empty() -> None:
    """Rows have none where a number is missing and an empty text where a text is."""
    (row,) = rows_of(frame_of([{"machine": "box", "seconds": 1.0, "steps": 2.0}], "cells"), Cell)
    assert (row.machine, row.paper, row.seconds, row.threads, row.rounds) == ("box", "", 1.0, None, 0)


def test_tables_not_built_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"rounds\.csv: not found; build the tables first: respeed report"):
        respeed.load_tables(tmp_path)


def test_tables_of_another_form_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_machines(1)
    make_tables(False, PAPERS, PROFILES).write(tmp_path)
    whole = (tmp_path / "rounds.csv").read_text("utf-8")
    for text in (
        whole.replace("machine", "machines", 1),
        whole.replace(",", ";"),
        whole.replace("box-00", "a,b", 1),
        "",
    ):
        (tmp_path / "rounds.csv").write_text(text, "utf-8")
        with pytest.raises(UserError, match=r"^.*rounds\.csv: cannot be read \(.*\); build the tables first: respeed"):
            respeed.load_tables(tmp_path)


def test_the_docs_example_runs_on_a_runs_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example of the docs runs on the tables of a run."""
    monkeypatch.chdir(tmp_path)
    write_machines(1)
    make_tables(False, PAPERS, PROFILES).write(results_folder(False) / "tables")
    page = (ROOT / "docs/tables.md").read_text(encoding="utf-8")
    exec(page.split("```python")[1].split("```")[0], {})
    assert "576x1024  torch-1" in capsys.readouterr().out
