"""Figures of whole machines: legible, level where they can be, the same twice."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.dom import minidom

import pytest
import typst
from matplotlib.figure import Figure
from pypdf import PageObject, PdfReader

from respeed import figures
from respeed.analysis.cells import PAPER
from respeed.analysis.roofline import make_history
from respeed.figures import build_figures
from respeed.figures.machine import draw_history
from respeed.figures.results import load_results
from respeed.output import build_tables
from tests.conftest import ROOT, MakeRecord
from tests.figures.boxes import assert_legible, texts_of
from tests.figures.machines import ALL, CPU, DOUBLE, drawn, write_machine


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Figure]]:
    """Figures by their path, kept in place of their files."""
    drawn: dict[str, Figure] = {}
    monkeypatch.setattr(figures, "save_figure", lambda figure, path: drawn.update({str(path): figure}))
    return drawn


def draw(make_record: MakeRecord, profiles: tuple[str, ...], **facts: Any) -> None:
    write_machine(make_record, profiles, **facts)
    build_tables(smoke=False)
    build_figures(smoke=False)


# As long as a machine's name and a row's label may be.
LONG = {"machine": "intel-xeon-box-1" * 4, "label": "a program that has a name of many words: "}


@pytest.mark.parametrize(("profiles", "names"), [(CPU, {}), (ALL, {}), (ALL, LONG), ((), {})])
def test_no_words_of_any_figure_lie_on_others_or_beyond_the_page(
    make_record: MakeRecord, kept: dict[str, Figure], profiles: tuple[str, ...], names: dict[str, str]
) -> None:
    draw(make_record, profiles, **names)
    assert len(kept) == 5 + 1 + 2
    for path, figure in kept.items():
        assert_legible(figure, path)
    if not profiles:
        texts = {Path(path).parent.name: texts_of(one) for path, one in kept.items()}
        assert "nothing to compare yet" in texts["matmul"]


def test_a_history_has_the_papers_fastest_by_name_and_every_machine_at_the_end(make_record: MakeRecord) -> None:
    names = ("box", "intel-xeon-platinum-9999x2-64c-h200-8")
    for place, name in enumerate(names):
        for profile in (*DOUBLE, "gpu"):
            write_machine(make_record, (profile,), machine=name, rounds=1, speed=1 - 0.3 * place, paper="check-blas")
    build_tables(smoke=False, papers=["check-blas"])
    results = load_results(smoke=False, papers=["check-blas"])
    paper, rounds = results.papers["check-blas"], results.table("rounds")
    points = make_history(paper, results.table("cells"), rounds)
    small = make_history(paper, results.table("cells").assign(case="1-thread-small"), rounds)
    assert set(points["machine"]) == {PAPER, *names}
    assert set(small["machine"]) == {PAPER}
    highest = points.set_index(["label", "kind"])["rate"]
    assert highest["GTX Titan Black", "accelerator, fp32"] == pytest.approx(2.5e3 / 0.64)
    assert highest["X5550, goto2 1.13", "one thread, fp64"] == pytest.approx(160 / 14.37)
    assert highest["X5550, goto2 1.13", "more threads, fp64"] == pytest.approx(160 / 1.94)
    shown = texts_of(draw_history(paper, points, ""))
    assert {"GTX 680", "GTX Titan Black"} <= shown
    assert not shown & {"8500 GT", "i7 950, OpenBLAS"}
    assert "box, accelerator, fp32:" in " ".join(shown)


@pytest.mark.slow
def test_the_same_records_give_the_same_bytes_whatever_python_hashes(make_record: MakeRecord) -> None:
    write_machine(make_record, ALL)
    build_tables(smoke=False)
    found = []
    for seed in ("1", "2"):
        code = "from respeed.figures import build_figures; build_figures(smoke=False)"
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "workflow")}
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)
        found.append(drawn())
    assert len(found[0]) == 3 * 8
    assert found[0] == found[1]


def test_a_label_comes_out_as_text_whatever_is_in_it(make_record: MakeRecord) -> None:
    draw(make_record, CPU, label="$a$<&> ")
    place = Path("results/figures/raina2009/rbm/box-speedup")
    svg = minidom.parse(str(place.with_suffix(".svg")))
    texts = ["".join(node.data for node in text.childNodes) for text in svg.getElementsByTagName("text")]
    assert "$a$<&> OpenBLAS, all cores" in texts
    assert "$a$<&> OpenBLAS" in PdfReader(place.with_suffix(".pdf")).pages[0].extract_text()


def page_of(svg: Path) -> PageObject:
    """What Typst makes of a figure in a report, in the standards of the report."""
    made, source = svg.with_name("report.pdf"), svg.with_suffix(".typ")
    source.write_text(f'#set document(title: "a")\n#figure(image("{svg.name}", alt: "a"), caption: [b])')
    typst.compile(source, output=made, ignore_system_fonts=True, pdf_standards=["a-2a", "ua-1"])
    return PdfReader(made).pages[0]


def test_the_report_sets_the_words_of_a_figure_in_its_own_face(make_record: MakeRecord) -> None:
    draw(make_record, CPU, rounds=1)
    page = page_of(Path("results/figures/raina2009/rbm/box-speedup.svg"))
    assert "OpenBLAS, all cores" in page.extract_text()
    faces = {font.get_object()["/BaseFont"].partition("+")[2] for font in page["/Resources"]["/Font"].values()}
    assert {face.removesuffix("-Identity-H") for face in faces} <= {"LibertinusSerif-Regular", "LibertinusSerif-Bold"}


@pytest.mark.slow
def test_letters_that_no_face_has_do_not_stop_the_report(make_record: MakeRecord) -> None:
    draw(make_record, CPU, rounds=1, label="量子 🚀 ")
    svg = Path("results/figures/raina2009/rbm/box-speedup.svg")
    assert "<text" not in svg.read_text()
    assert page_of(svg)
