"""The report has the figures that were drawn."""

import shutil
from pathlib import Path

import pytest

from respeed.errors import UserError
from respeed.output import build_tables, load_results
from respeed.report import build_report
from respeed.report.context import make_context
from respeed.shown import Asked
from tests.conftest import ROOT
from tests.made import write_machines

SQUARE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9" fill="#123456"/></svg>'
)


def test_a_report_holds_every_figure_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If one is not there, a line says which step draws it."""
    shutil.copytree(ROOT / "report", tmp_path / "report", ignore=shutil.ignore_patterns("*.pdf", "facts"))
    monkeypatch.chdir(tmp_path)
    write_machines(1, cases=["576x1024", "1024x4096"])
    shown = Asked(smoke=False, papers=["raina2009"])
    build_tables(shown)
    with pytest.raises(UserError, match=r"were the figures drawn\? \(respeed report --only figures\)"):
        build_report(shown)
    (paper,) = make_context(load_results(shown))["papers"]
    (section,) = (section for section in paper["sections"] if section["figures"])
    for figure in section["figures"]:
        path = Path(figure["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SQUARE, "utf-8")
    assert build_report(shown).read_bytes().startswith(b"%PDF")
