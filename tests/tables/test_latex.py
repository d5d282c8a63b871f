"""Tables in LaTeX, set by a real one."""

import re
import shutil
import string
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.estimators.rounds import collect_rounds
from respeed.tables.folded import fold
from respeed.tables.latex import escape_latex, write_latex
from respeed.tables.origins import Origin, describe_origin
from respeed.tables.published import make_published_table
from tests.tables.derived import ALL, GPU, GPU_BF16, PAPER, MakeRecord, derive, every_case, seven, table_of

SPECIALS = r"%$#&_{}~^\ [x]*|<b> `--'' ?` \input{x} \end{tabularx} \\"
WIDE = "W" * 64
# How each special character is written, to read it again.
WRITTEN = {
    r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^", r"\textless{}": "<",
    r"\textgreater{}": ">", r"\textbar{}": "|", r"\textasciigrave{}": "`", r"\char34{}": '"', r"\{": "{", r"\}": "}",
    r"\%": "%", r"\$": "$", r"\#": "#", r"\&": "&", r"\_": "_", "{[}": "[", "{]}": "]", "{*}": "*", "-{}": "-",
    "'{}": "'", r"\penalty5000 ": "",
}  # fmt: skip


@given(st.text(string.ascii_letters + string.digits + string.punctuation + " "))
def test_what_is_escaped_reads_as_it_was(text: str) -> None:
    found = re.findall("|".join(map(re.escape, WRITTEN)) + r"|[^\\%$#&_{}~^<>|`\"\[\]*]", escaped := escape_latex(text))
    assert "".join(found) == escaped  # no special character is left raw
    assert "".join(WRITTEN.get(piece, piece) for piece in found) == text


@given(st.text(st.characters()))
def test_any_text_becomes_printable_ascii(text: str) -> None:
    assert escape_latex(text).isprintable()
    assert escape_latex(text).isascii()


def test_accents_stay_and_what_no_font_has_becomes_a_question_mark() -> None:
    assert escape_latex("é ł ± 漢") == r"\'{e} \l{} $\pm$ ?"


def test_a_table_names_the_packages_that_it_needs(make_record: MakeRecord) -> None:
    text = write_latex(fold(table_of(seven(make_record, [0.1] * 7)), {}))
    assert r"% Needs \usepackage{array,booktabs,tabularx}" in text


def test_numbers_are_cut_at_their_point_and_intervals_are_small(make_record: MakeRecord) -> None:
    text = write_latex(fold(table_of(seven(make_record, [0.01] * 7)), {}))
    assert r"PyTorch, one core & 52 & .1 & {\scriptsize $\pm$0.1\,\%}" in text
    assert r"& 38 & .6 & & 184 &  & &" in text


def records_of_a_whole_project(make_record: MakeRecord) -> list[dict[str, object]]:
    """Every table with a GPU, two machines, and labels that nobody writes."""
    records = [
        *every_case(make_record, 0.11),
        *every_case(make_record, 0.061, **ALL),
        *every_case(make_record, 0.0021, **GPU),
        *every_case(make_record, 0.00123, **GPU_BF16),
        *every_case(make_record, 1234.5, profile="specials"),
        *every_case(make_record, 12.3, profile="wide", architecture="multi-cpu"),
        *every_case(make_record, 0.2, machine="m" * 64),
    ]
    for record in records:
        label = {"specials": SPECIALS, "wide": WIDE}.get(record["id"]["profile"])
        record["profile"]["label"] = label or record["profile"]["label"]
        record["provenance"]["machine"]["cpu"] = f"{SPECIALS} {WIDE}"
    return records


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no pdflatex here")
@pytest.mark.parametrize("measured", [True, False])
def test_every_table_fits_a_column_of_text(make_record: MakeRecord, tmp_path: Path, *, measured: bool) -> None:
    records = records_of_a_whole_project(make_record) if measured else []
    origins: dict[str, Origin] = {}
    for machine in {record["id"]["machine"] for record in records}:
        mine = [record for record in records if record["id"]["machine"] == machine]
        origins[machine] = describe_origin(machine, mine, collect_rounds(mine), None)
    made, ratios = derive(records)
    inputs = []
    for name, experiment in PAPER.experiments.items():
        table = make_published_table(PAPER, experiment, made, ratios, smoke=False)
        (tmp_path / f"{name}.tex").write_text(write_latex(fold(table, origins, stamp="No measurement.")))
        inputs.append(rf"\section{{{name}}}\input{{{name}}}")
    document = [r"\documentclass[a4paper]{article}", r"\usepackage{array,booktabs,tabularx}", r"\begin{document}"]
    (tmp_path / "all.tex").write_text("\n".join([*document, *inputs, r"\end{document}"]))
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    log = (tmp_path / "all.log").read_text(errors="replace")
    too_wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)]
    assert all(points <= 1 for points in too_wide), too_wide
    assert "Underfull" not in log
