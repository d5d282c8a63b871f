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
    FORMS,
    escape_latex,
    escape_markdown,
    lay_out,
    pipe_table,
    write_latex,
    write_markdown,
)
from respeed.text import Value, printable
from tests.derived import ALL, GPU, GPU_BF16, PAPER, MakeRecord, every_case, folded_of, machine_of, seven

markdown_it = pytest.importorskip("markdown_it")

SPECIALS = r"%$#&_{}~^\ [x]*|<b> `--'' ?` \input{x} \end{tabularx} \\"
WIDE = "W" * 64
# How each special character is written, to read it again.
WRITTEN = {
    r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^", r"\textless{}": "<",
    r"\textgreater{}": ">", r"\textbar{}": "|", r"\textasciigrave{}": "`", r"\char34{}": '"', r"\{": "{", r"\}": "}",
    r"\%": "%", r"\$": "$", r"\#": "#", r"\&": "&", r"\_": "_", "{[}": "[", "{]}": "]", "{*}": "*", "-{}": "-",
    "'{}": "'", r"\penalty5000 ": "",
}  # fmt: skip


def numbers_of(lines: int, columns: int, groups: int = 1) -> pd.DataFrame:
    """Every value is another number."""
    index = [
        (f"box-{place}", f"group {place}", "seconds", f"row {row}") for place in range(groups) for row in range(lines)
    ]
    values = [[Value(f"{source}-{label}-{column}") for column in range(columns)] for source, _, _, label in index]
    names = pd.MultiIndex.from_tuples(index, names=["source", "heading", "kind", "label"])
    return pd.DataFrame(values, names, [f"case {place}" for place in range(columns)], dtype=object)


@given(*[st.integers(1, 12)] * 2, st.integers(1, 3), st.integers(1, 4))
def test_every_number_is_in_one_part_and_no_part_is_too_wide(lines: int, columns: int, groups: int, most: int) -> None:
    parts = lay_out(numbers_of(lines, columns, groups), most)
    shown = [value.text for part in parts for value in part.to_numpy().ravel()]
    assert len(shown) == len(set(shown)) == lines * columns * groups
    assert all(1 <= part.shape[1] <= most for part in parts)


def test_a_table_of_more_than_four_cases_is_turned_and_one_without_rows_has_no_parts() -> None:
    assert [lay_out(numbers_of(2, columns))[0].columns[0] for columns in (4, 11)] == ["case 0", "row 0"]
    assert lay_out(folded_of([], "matmul").numbers) == []


@given(st.text(string.ascii_letters + string.digits + string.punctuation + " "))
def test_what_is_escaped_for_latex_reads_as_it_was(text: str) -> None:
    found = re.findall("|".join(map(re.escape, WRITTEN)) + r"|[^\\%$#&_{}~^<>|`\"\[\]*]", escaped := escape_latex(text))
    assert "".join(found) == escaped  # no special character is left raw
    assert "".join(WRITTEN.get(piece, piece) for piece in found) == text


@given(st.text(st.characters()))
def test_any_text_becomes_printable_ascii_in_latex(text: str) -> None:
    assert escape_latex(text).isprintable()
    assert escape_latex(text).isascii()


def test_accents_stay_and_what_no_font_has_becomes_a_question_mark() -> None:
    assert escape_latex("é ł ± 漢") == r"\'{e} \l{} $\pm$ ?"


def test_two_hyphens_are_not_drawn_as_a_dash() -> None:
    assert escape_latex("./run --cores ''") == r"./run -{}-cores '{}'"


def test_latex_names_its_packages_cuts_numbers_at_their_point_and_sets_intervals_small(make_record: MakeRecord) -> None:
    text = write_latex(folded_of(seven(make_record, [0.01] * 7)), "tab:rbm")
    assert r"Needs \usepackage{array,booktabs,tabularx}" in text
    assert r"(ICML 2009)}\label{tab:rbm}" in text
    assert r"PyTorch, one core & 52 & .1 & {\scriptsize $\pm$0.1\,\%}" in text
    assert r"& 38 & .6 & & 184 &  & &" in text


def records_of_a_whole_project(make_record: MakeRecord, *, odd: bool) -> list[dict[str, object]]:
    """Every table with a GPU, two machines, and labels that nobody writes if it is to be `odd`."""
    records = [
        *every_case(make_record, 0.11),
        *every_case(make_record, 0.061, **ALL),
        *every_case(make_record, 0.0021, **GPU),
        *every_case(make_record, 0.00123, **GPU_BF16),
        *every_case(make_record, 1234.5, profile="specials"),
        *every_case(make_record, 12.3, profile="wide", architecture="multi-cpu"),
        *every_case(make_record, 0.2, machine="m" * 64),
    ]
    records = records if odd else [one for one in records if one["id"]["profile"] not in ("specials", "wide")]
    for record in records if odd else ():
        label = {"specials": SPECIALS, "wide": WIDE}.get(record["id"]["profile"])
        record["profile"]["label"] = label or record["profile"]["label"]
        record["provenance"]["machine"]["cpu"] = f"{SPECIALS} {WIDE}"
    return records


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no pdflatex here")
@pytest.mark.parametrize(
    ("measured", "ending", "kind"),
    [
        (True, "", "[a4paper]{article}"),
        (False, "", "[a4paper]{article}"),
        pytest.param(True, "-narrow", "[a4paper,twocolumn]{article}", marks=pytest.mark.slow),
        pytest.param(True, "-slide", "{beamer}", marks=pytest.mark.slow),
        pytest.param(True, "-slide", "[aspectratio=169]{beamer}", marks=pytest.mark.slow),
    ],
)
def test_every_table_fits_its_page_column_or_slide_and_can_be_referred_to(
    make_record: MakeRecord, tmp_path: Path, *, measured: bool, ending: str, kind: str
) -> None:
    is_slide = "beamer" in kind
    if is_slide and not all(subprocess.run(["kpsewhich", name], check=False, capture_output=True).stdout
                            for name in ("beamer.cls", "pgfmath.sty")):  # fmt: skip
        pytest.skip("no beamer here")
    records = records_of_a_whole_project(make_record, odd=not is_slide) if measured else []
    origins = {}
    for machine in {record["id"]["machine"] for record in records}:
        mine = [record for record in records if record["id"]["machine"] == machine]
        origins[machine] = machine_of(mine, machine)
    inputs = []
    for name in PAPER.experiments:
        folded = folded_of(records, name, origins=origins, stamp="No measurement.")
        (tmp_path / f"{name}.tex").write_text(write_latex(folded, f"tab:{name}", FORMS[ending]))
        frame = rf"\begin{{frame}}[allowframebreaks]{{{name}}}\input{{{name}}}\end{{frame}}"
        inputs.append(frame if is_slide else rf"\section{{{name}}}\input{{{name}}}\clearpage")
    document = [rf"\documentclass{kind}", r"\usepackage{array,booktabs,tabularx}", r"\begin{document}"]
    (tmp_path / "all.tex").write_text("\n".join([*document, *inputs, r"\end{document}"]))
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    log = (tmp_path / "all.log").read_text(errors="replace")
    too_wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)]
    assert all(points <= 1 for points in too_wide), too_wide
    assert not re.findall(r"Overfull \\vbox|too large|multiply defined", log)
    assert "Underfull" not in log or ending
    assert all(rf"\newlabel{{tab:{name}}}" in (tmp_path / "all.aux").read_text() for name in PAPER.experiments)


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
