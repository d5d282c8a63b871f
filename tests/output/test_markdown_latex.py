"""Tables in Markdown and LaTeX: read by a real renderer, set by a real typesetter."""

import html
import re
import shutil
import string
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.output.markdown_latex import (
    escape_latex,
    escape_markdown,
    lay_out,
    pipe_table,
    write_latex,
    write_markdown,
)
from respeed.text import Value, printable
from tests.derived import GPU, PAPER, MakeRecord, every_case, folded_of, seven

markdown_it = pytest.importorskip("markdown_it")

# How each special character is written, to read it again.
WRITTEN = {
    r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^", r"\{": "{", r"\}": "}",
    r"\%": "%", r"\$": "$", r"\#": "#", r"\&": "&", r"\_": "_", "{[}": "[", "{*}": "*",
}  # fmt: skip


def numbers_of(lines: int, columns: int, groups: int = 1) -> pd.DataFrame:
    """Every value is another number."""
    index = [
        (f"box-{place}", f"group {place}", "seconds", f"row {row}") for place in range(groups) for row in range(lines)
    ]
    values = [[Value(f"{source}-{label}-{column}") for column in range(columns)] for source, _, _, label in index]
    names = pd.MultiIndex.from_tuples(index, names=["source", "heading", "kind", "label"])
    return pd.DataFrame(values, names, [f"case {place}" for place in range(columns)], dtype=object)


@given(*[st.integers(1, 12)] * 2, st.integers(1, 3))
def test_every_number_is_in_one_part_and_no_part_is_too_wide(lines: int, columns: int, groups: int) -> None:
    parts = lay_out(numbers_of(lines, columns, groups))
    shown = [value.text for part in parts for value in part.to_numpy().ravel()]
    assert len(shown) == len(set(shown)) == lines * columns * groups
    assert all(1 <= part.shape[1] <= 4 for part in parts)


def test_a_table_of_more_than_four_cases_is_turned_and_one_without_rows_has_no_parts() -> None:
    assert [lay_out(numbers_of(2, columns))[0].columns[0] for columns in (4, 11)] == ["case 0", "row 0"]
    assert lay_out(folded_of([], "matmul").numbers) == []


@given(st.text(string.ascii_letters + string.digits + string.punctuation + " "))
def test_what_is_escaped_for_latex_reads_as_it_was(text: str) -> None:
    found = re.findall("|".join(map(re.escape, WRITTEN)) + r"|[^\\%$#&_{}~^\[*]", escaped := escape_latex(text))
    assert "".join(found) == escaped  # no special character is left raw
    assert "".join(WRITTEN.get(piece, piece) for piece in found) == text


def test_accents_stay_and_what_no_font_has_becomes_a_question_mark() -> None:
    assert escape_latex("é ± – 漢\x1b") == "é ± – ?"


def test_latex_is_a_long_table_a_part_with_one_label_and_its_notes(make_record: MakeRecord) -> None:
    text = write_latex(folded_of(seven(make_record, [0.01] * 7)), "tab:rbm")
    assert r"Needs \usepackage[T1]{fontenc} and \usepackage{array,booktabs,longtable}" in text
    assert text.count(r"(ICML 2009)\label{tab:rbm}") == text.count(r"\begin{longtable}") == 1
    assert r"PyTorch, one core & 52.1 {\scriptsize ±0.1 \%} & –\textsuperscript{1} &" in text
    assert r"\textsuperscript{1}not measured yet." in text
    text = write_latex(folded_of(every_case(make_record, 0.1), "matmul"), "tab:matmul")
    parts = text.count(r"\begin{longtable}")
    assert (parts, text.count("(continued)"), text.count(r"\label")) == (parts, parts - 1, 1)


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no pdflatex here")
def test_every_table_is_set_and_fits_its_page(make_record: MakeRecord, tmp_path: Path) -> None:
    records = [*every_case(make_record, 0.11), *every_case(make_record, 0.0021, **GPU)]
    for name in PAPER.experiments:
        (tmp_path / f"{name}.tex").write_text(write_latex(folded_of(records, name), f"tab:{name}"))
    inputs = [rf"\input{{{name}}}" for name in PAPER.experiments]
    packages = r"\usepackage[T1]{fontenc}\usepackage{array,booktabs,longtable}"
    document = [r"\documentclass[a4paper]{article}", packages, r"\begin{document}", *inputs, r"\end{document}"]
    (tmp_path / "all.tex").write_text("\n".join(document))
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    wide = re.findall(r"Overfull \\hbox \(([\d.]+)pt", (tmp_path / "all.log").read_text(errors="replace"))
    assert all(float(points) <= 1 for points in wide), wide


def render(text: str) -> str:
    return str(markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


@given(st.text(st.one_of(st.characters(), st.sampled_from("\\`*_{}[]<>()#+-.!|~&$=\"'"))))
def test_any_text_is_shown_as_it_is_in_markdown(text: str) -> None:
    shown = " ".join(f"x{printable(text)}x".split(" "))
    page = render(pipe_table([["head", ""], [f"x{escape_markdown(text)}x", "number"]]))
    cell = page.split('<td style="text-align:left">')[1].split("</td>")[0]
    assert html.unescape(cell.replace("<span>$</span>", "$")) == shown


def test_addresses_in_a_label_are_no_links() -> None:
    assert escape_markdown("https://a.b www.a.b") == r"https:\//a.b www\.a.b"


def test_a_smoke_table_says_that_it_is_none(make_record: MakeRecord) -> None:
    text = write_markdown(folded_of(seven(make_record, [0.1] * 7), stamp="No measurement: tiny."))
    assert text.splitlines()[0] == "**No measurement: tiny.**"
