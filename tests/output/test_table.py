"""A table in each of its formats: read by a real renderer, set by a real typesetter."""

import html
import re
import shutil
import string
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.output.table import Line, Table, escape_latex, escape_markdown, to_html, to_latex, to_markdown
from respeed.text import Value, printable
from tests.derived import GPU, PAPER, every_case, seven, table_of

markdown_it = pytest.importorskip("markdown_it")

# How each special character is written, to read it again.
WRITTEN = {
    r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^", r"\{": "{", r"\}": "}",
    r"\%": "%", r"\$": "$", r"\#": "#", r"\&": "&", r"\_": "_", "{[}": "[", "{*}": "*",
}  # fmt: skip


def made(lines: int, columns: int, groups: int = 1) -> Table:
    """Every value is another number."""
    cases = [f"case {place}" for place in range(columns)]
    index = [(f"group {place}", f"row {row}") for place in range(groups) for row in range(lines)]
    made = [Line(group, label, {case: Value(f"{group}-{label}-{case}") for case in cases}) for group, label in index]
    return Table("A table", "Seconds.", {case: case for case in cases}, made, has_cases=True)


def saying(text: str) -> Table:
    """Whatever can be said is this text."""
    line = Line(text, text, {text: Value(text, text), f"{text}.": Value(text, text, kind="verdict")})
    return Table(text, text, {name: name for name in (text, f"{text}.")}, [line], [text], text, "tab:one")


@given(*[st.integers(1, 12)] * 2, st.integers(1, 3))
def test_every_number_is_in_one_narrow_part(lines: int, columns: int, groups: int) -> None:
    """Every number is in one part and no part is too wide."""
    parts = made(lines, columns, groups).parts
    shown = [value.text for part in parts for line in part.lines for value in line.values.values()]
    assert len(shown) == len(set(shown)) == lines * columns * groups
    assert all(1 <= len(part.columns) <= (4 if columns <= 4 else 8) for part in parts)
    # One of more than four cases is turned.
    assert next(iter(parts[0].columns.values())) == ("case 0" if columns <= 4 else "row 0")


@given(st.text(string.ascii_letters + string.digits + string.punctuation + " "))
def test_what_latex_escapes_reads_the_same(text: str) -> None:
    found = re.findall("|".join(map(re.escape, WRITTEN)) + r"|[^\\%$#&_{}~^\[*]", escaped := escape_latex(text))
    assert "".join(found) == escaped  # no special character is left raw
    assert "".join(WRITTEN.get(piece, piece) for piece in found) == text
    assert escape_latex("é ± – 漢\x1b") == "é ± – ?"  # what no font has


def test_latex_parts_share_a_number_and_marks() -> None:
    """Latex is a float a part under one number and fields have the marks of notes."""
    table = table_of(seven(0.01))
    assert r"PyTorch, one core & 52.1 {\scriptsize ±0.1 \%} & –\textsuperscript{1} &" in to_latex(table)
    assert "| PyTorch, one core | 52.1 <sub>±0.1 %</sub> | –<sup>1</sup> |" in to_markdown(table)
    text = to_latex(table_of(every_case(0.1), "dbn"))
    parts = text.count(r"\begin{table*}")
    assert parts > 1
    assert (text.count(r"\addtocounter{table}{-1}"), text.count(r"\label")) == (parts - 1, 1)


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no pdflatex here")
@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_every_table_is_set_and_fits_its_page(columns: str, tmp_path: Path) -> None:
    records = [*every_case(0.11), *every_case(0.0021, **GPU)]
    hostile = saying("a_b %& $x^2$ \\input{x} [*] ~ # µ é")
    tables = {name: table_of(records, name) for name in PAPER.experiments} | {"hostile": hostile}
    for name, table in tables.items():
        (tmp_path / f"{name}.tex").write_text(to_latex(table, "No measurement: 5 %"), "utf-8")
    inputs = [rf"\input{{{name}}}\clearpage" for name in tables]
    packages = r"\usepackage[T1]{fontenc}\usepackage{array,booktabs}"
    document = [
        rf"\documentclass[a4paper,{columns}]{{article}}",
        packages,
        r"\begin{document}",
        *inputs,
        r"\end{document}",
    ]
    (tmp_path / "all.tex").write_text("\n".join(document), "utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    wide = re.findall(r"Overfull \\hbox \(([\d.]+)pt", (tmp_path / "all.log").read_text("utf-8", errors="replace"))
    assert all(float(points) <= 1 for points in wide), wide
    assert "Float too large" not in (tmp_path / "all.log").read_text("utf-8", errors="replace")


def render(text: str) -> str:
    return str(markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


@given(st.text(st.one_of(st.characters(), st.sampled_from("\\`*_{}[]<>()#+-.!|~&$=\"'"))))
def test_markdown_shows_any_text_as_it_is(text: str) -> None:
    shown = " ".join(f"x{printable(text)}x".split(" "))
    page = render(to_markdown(saying(f"x{text}x")))
    cell = page.split('<td style="text-align:left">')[-1].split("</td>")[0]
    assert html.unescape(cell.split("</strong>")[0].removeprefix("<strong>").replace("<span>$</span>", "$")) == shown


def test_a_labels_address_is_no_link() -> None:
    """Addresses in a label are no links and a smoke table says that it is none."""
    assert escape_markdown("https://a.b www.a.b a|b") == r"https:\//a.b www\.a.b a\|b"
    assert to_markdown(made(1, 1), "No measurement: tiny.").splitlines()[0] == "**No measurement: tiny.**"
    assert r"\caption{\textbf{No measurement: tiny.} A table" in to_latex(made(1, 1), "No measurement: tiny.")


@given(st.text(alphabet="<>&\"'/{}=scriptb", min_size=1))
def test_a_page_shows_any_label_as_text(label: str) -> None:
    """Whatever a label holds comes out as text on a page."""
    text = re.sub(r"<[^>]*>", "\0", to_html(saying(label)))
    # Title, caption, head and the two columns, group, line, two fields each with what is small, and the note.
    assert text.count(html.escape(label)) >= 12
    assert "<" not in text
