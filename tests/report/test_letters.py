"""No text, whoever wrote it, keeps the others from the report."""

import json
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from pypdf import PdfReader

from respeed.figures import build_figures
from respeed.output import build_tables
from respeed.paths import write_json
from respeed.records import write_description
from respeed.report import build_report, with_letters_only
from respeed.shown import Asked
from respeed.text import is_unprintable
from tests.conftest import ROOT
from tests.made import description, make_lines, write_lines

# As a stranger's label may be: control characters, marks of direction, what means something in each language that we
# write, letters that few faces have.
NASTY = (
    "=1+1\x1b[31m\0\n\u202e\ud800\ufffe#let $x_1^2$ \\input{x} %& ~ <b>&amp;</b> `|` ]] @a //b *c* "
    "\u6f22\u5b57 \U0001f680 \ue000 \u0627\u0644"
)


def test_letters_without_a_face_become_question_marks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Letters that no face has become question marks and so do too many to try."""
    facts = {"label": "PyTorch™ ±3 % é 漢 🚀", "rows": [("é", 1, None)]}
    assert with_letters_only(facts) == {"label": "PyTorch™ ±3 % é ? ?", "rows": [["é", 1, None]]}
    assert capsys.readouterr().err == "respeed: ? in the report stands for each of 漢 🚀\n"
    assert with_letters_only({"label": "é™"}) == {"label": "é™"}
    assert capsys.readouterr().err == ""
    text = "".join(chr(letter) for letter in range(0x4E00, 0x6000))
    assert with_letters_only({"a": f"{text}b"}) == {"a": "?" * len(text) + "b"}


def test_hostile_texts_stand_in_every_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record full of hostile texts stands in tables figures and report."""
    shutil.copytree(ROOT / "report", tmp_path / "report", ignore=shutil.ignore_patterns("*.pdf", "facts"))
    monkeypatch.chdir(tmp_path)
    hardware = {"cpu": NASTY, "system": NASTY, "accelerators": [NASTY], "cpu_flags": [NASTY]}
    backend = dict.fromkeys(("package", "library", "version", "kernel", "accelerator"), NASTY)
    for profile in ("evil", "none", "other"):
        # A row of no table of the paper's: these words say where it would stand.
        odd = dict.fromkeys(("device", "precision"), NASTY) if profile == "none" else {}
        start, result = make_lines(
            profile=profile, label=NASTY, package=NASTY, hardware=hardware, versions={NASTY: NASTY},
            errors={NASTY: 1e-6}, **odd,
        )  # fmt: skip
        write_lines(start | {"backend": backend}, result)
    write_description("box", False, description(not_measurable={"torch-all": NASTY}, **hardware))
    write_json(Path("results/records/box/unknown.json"), {})
    for build in (build_tables, build_figures, build_report):
        build(Asked(smoke=False, papers=["raina2009"]))
    for path in Path("results").rglob("*.*"):
        if path.suffix in {".csv", ".md", ".tex", ".html", ".svg"}:
            text = path.read_text(encoding="utf-8-sig").replace("\n", "")
            # Libraries are indented by tabs; what they are given has no letter as it is.
            for data in re.findall(r'id="data">(.*?)</script>', text):
                text = text.replace("\t", "") + json.dumps(json.loads(data), ensure_ascii=False)
            assert not any(is_unprintable(char) for char in text), path
        if path.suffix == ".svg":
            ET.parse(path)
    text = " ".join(page.extract_text() for page in PdfReader("report/report.pdf").pages)
    assert "#let $x_1^2$ \\input{x} %&" in " ".join(text.split())
    assert all(f"({profile})" in "".join(text.split()) for profile in ("evil", "other"))
