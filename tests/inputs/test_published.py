"""published.csv: plain numbers, a row a line, and every mistake with its line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.inputs.forms import Mistakes
from respeed.inputs.papers import load_paper
from respeed.inputs.published import COLUMNS, MAX_BYTES, MAX_LINES, Numbers, positive, read_published

HEAD = f"{','.join(COLUMNS)}\n"
EXPERIMENTS = load_paper("raina2009").experiments
ROWS = ("single-cpu", "multi-cpu", "gpu")
LINE = "rbm,576x1024,gpu,38.6,seconds,38.6\n"


def read(folder: Path, text: str | bytes) -> tuple[Numbers, Mistakes]:
    path, mistakes = folder / "published.csv", Mistakes()
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    experiments = {"rbm": EXPERIMENTS["rbm"]}
    values, speedups = read_published(path, experiments, set(EXPERIMENTS) - {"rbm"}, ROWS, mistakes)
    return values | speedups, mistakes


def test_a_plain_line_is_read(tmp_path: Path) -> None:
    numbers, mistakes = read(tmp_path, f"{HEAD}\n{LINE}".replace("\n", "\r\n"))
    assert not mistakes
    assert numbers["rbm", "576x1024", "gpu"].value == 38.6


@pytest.mark.parametrize(
    "text",
    ["1_000", "1e3", "+1", "-1", " 1", "1 ", "0x10", "nan", "inf", "Infinity", "1,000", ".5", "5.", "", "0", "0.000",
     "١٢٣", "\uff11\uff12", "²", "1" * 16, "1." + "1" * 16, "1\n", "1\u200b"],
)  # fmt: skip
def test_only_plain_digits_are_a_number(text: str) -> None:
    with pytest.raises(UserError, match="must be a number greater than 0, in digits such as"):
        positive(text, "published.csv:2: value")


@given(st.text())
def test_a_text_is_its_number_or_no_number(text: str) -> None:
    try:
        value = positive(text, "")
    except UserError:
        return
    assert text.isascii()
    assert text.replace(".", "", 1).isdigit()
    assert 0 < value < 1e16


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ('rbm,"576x1024,gpu,38.6,seconds,38.6\n', (":3:", "a quote does not end")),
        ('rbm,"576"x1024,gpu,38.6,seconds,38.6\n', (":3:", "is no line of a CSV file")),
        ("rbm,576x1024,gpu,38.6,seconds\n", (":3:", "must have 6 values, has 5")),
        ("rbm,576x1024,gpu,38.6,seconds,38.6,1\n", (":3:", "must have 6 values, has 7")),
        ("rbm,576x1024,gpu,38.6\0,seconds,38.6\n", (":3:", "U+0000")),
        ("rbm,576x1024,gpu,38.6,seconds,\u202e38.6\n", (":3:", "U+202E (RIGHT-TO-LEFT OVERRIDE)")),
        (f"rbm,{'5' * 200_000},gpu,38.6,seconds,38.6\n", (":3:", "more than 500 characters")),
        ("rbm,576x1024,gpu,1_000,seconds,1_000\n", (":3: value", "'1_000' must be a number")),
        ("rbm,576x1024,gpu,٣٨,seconds,٣٨\n", (":3: value", "must be a number")),
        ("\n" * (MAX_LINES + 1), (f"more than {MAX_LINES} lines",)),
        ("x" * MAX_BYTES, ("larger than",)),
    ],
    ids=range(11),
)
def test_a_mistake_is_one_line_with_its_number(tmp_path: Path, line: str, parts: tuple[str, ...]) -> None:
    _, mistakes = read(tmp_path, f"{HEAD}rbm,576x1024,single-cpu,1,seconds,1\n{line}")
    assert len(mistakes) == 1
    assert "published.csv" in mistakes[0]
    assert len(mistakes[0]) < 500
    for part in parts:
        assert part in mistakes[0]


PIECES = st.sampled_from(
    ["rbm", "576x1024", "gpu", "38.6", "seconds", "x", ",", '"', "\n", "\r", "\0", "1_0", "٣", HEAD, LINE]
)


@given(
    st.one_of(
        st.binary(max_size=300), st.lists(PIECES, max_size=40).map(lambda found: f"{HEAD}{''.join(found)}".encode())
    )
)
def test_any_bytes_give_numbers_or_lines(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    numbers, mistakes = read(tmp_path_factory.getbasetemp(), data)
    assert all(line.isprintable() or "\\" in line for line in mistakes)
    assert all(printed.value > 0 for printed in numbers.values())
