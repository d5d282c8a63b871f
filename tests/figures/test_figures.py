"""Figures of whole machines: legible, level where they can be, the same twice."""

import re
from pathlib import Path
from xml.dom import minidom

import pytest
import typst
from matplotlib.figure import Figure
from pypdf import PdfReader

from respeed import figures
from respeed.figures import build_figures
from respeed.output import build_tables
from respeed.shown import Asked
from tests.figures.machines import ALL, CPU, assert_legible, words_of, write_machine
from tests.figures.test_charts import drawn

pytestmark = pytest.mark.usefixtures("own_folder")


# As long as a machine's name and a row's label may be.
LONG = {"machine": "intel-xeon-box-1" * 4, "label": "a program that has a name of many words: "}


@pytest.mark.parametrize(("profiles", "names"), [(ALL, LONG), ((), {})])
def test_no_words_of_figures_overlap(
    monkeypatch: pytest.MonkeyPatch, profiles: tuple[str, ...], names: dict[str, str]
) -> None:
    """No words of any figure lie on others or beyond the page."""
    kept = dict[str, Figure]()
    monkeypatch.setattr(figures, "save_figure", lambda figure, path: kept.update({str(path): figure}))
    write_machine(profiles, **names, rounds=2)
    build_tables(Asked(smoke=False))
    build_figures(Asked(smoke=False))
    assert len(kept) == (4 if profiles else 0)
    for path, figure in kept.items():
        assert_legible(figure, path)
        words = "".join("".join(text.get_text().split()) for text in words_of(figure))
        assert names.get("machine", "box") in words, path


def test_a_label_is_text_in_the_reports_face() -> None:
    """A label comes out as text whatever is in it and the report sets it in its own face."""
    write_machine(CPU, label="$a$<&> ", rounds=1)
    svg = Path("rbm.svg")
    figures.save_figure(drawn("rbm"), svg.with_suffix(""))
    figures.save_figure(drawn("rbm"), Path("again"))
    for ending in ("svg", "pdf", "png"):
        made = [Path(f"{name}.{ending}").read_bytes() for name in ("rbm", "again")]
        assert made[0] == made[1], ending
        assert not re.search(b"dc:date|CreationDate|Software", made[0]), ending
    texts = minidom.parse(str(svg)).getElementsByTagName("text")
    assert "$a$<&> OpenBLAS, all cores" in ["".join(node.data for node in text.childNodes) for text in texts]
    assert "$a$<&> OpenBLAS" in PdfReader(svg.with_suffix(".pdf")).pages[0].extract_text()
    source, made = svg.with_suffix(".typ"), Path("report.pdf")
    source.write_text(f'#set document(title: "a")\n#figure(image("{svg.name}", alt: "a"), caption: [b])')
    typst.compile(source, output=made, ignore_system_fonts=True, pdf_standards=["a-2a", "ua-1"])
    page = PdfReader(made).pages[0]
    assert "OpenBLAS, all cores" in page.extract_text()
    faces = {font.get_object()["/BaseFont"].partition("+")[2] for font in page["/Resources"]["/Font"].values()}
    assert {face.removesuffix("-Identity-H") for face in faces} <= {"LibertinusSerif-Regular", "LibertinusSerif-Bold"}
