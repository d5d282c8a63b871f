"""What may be a name, and what of a text can be printed."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.paths import check_name, write_text
from respeed.text import format_share, in_words, is_unprintable, join_words, name_unprintable, printable, visible

ANY = st.text(st.characters())


@pytest.mark.parametrize("name", ["../../x", "x;touch y", "A", "a" * 65, "", "-a", "a\n", "à", "a/b", "a.b"])
def test_a_name_is_no_path_and_no_command(name: str) -> None:
    assert check_name("machine", longest := "09az-_" + "x" * 58, "") == longest
    with pytest.raises(UserError, match="cannot be the name of a machine"):
        check_name("machine", name, "config.yaml: machine")


@given(ANY)
def test_any_text_becomes_one_printable_line(text: str) -> None:
    """Of any text what is printable is one line and can be written."""
    for shown in (printable(text), visible(text), str(UserError(f"a: {text}"))):
        assert not any(map(is_unprintable, shown))
        shown.encode("utf-8")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.1, "1 s"), (40, "40 s"), (720, "12 min"), (5399, "90 min"), (12600, "3.5 h")]
)
def test_a_duration_is_as_coarse_as_an_estimate(seconds: float, text: str) -> None:
    assert in_words(seconds) == text


def test_a_share_is_at_least_a_tenth() -> None:
    """A share is at least a tenth of a per cent."""
    assert [format_share(share) for share in (4e-4, 0.0044, 0.044)] == ["0.1 %", "0.4 %", "4 %"]


def test_a_list_with_commas_takes_semicolons() -> None:
    """A list of what has commas is told apart by semicolons."""
    assert [join_words(words) for words in ([], ["a"], ["a", "b", "c"], ["a, b", "c", "d"])] == [
        "", "a", "a, b and c", "a, b; c and d",
    ]  # fmt: skip


def test_what_is_written_leaves_nothing_beside_it(tmp_path: Path) -> None:
    for text in ("one", "two"):
        write_text(tmp_path / "file", text)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["two"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a\x1b[31m", "U+001B"), ("a\0", "U+0000"), ("a\nb", "U+000A (a line break)"), ("a\tb", "U+0009"),
        ("a\u202eb", "U+202E (RIGHT-TO-LEFT OVERRIDE)"), ("\u200f", "U+200F (RIGHT-TO-LEFT MARK)"),
        ("\u2066", "U+2066 (LEFT-TO-RIGHT ISOLATE)"), ("\u200b", "U+200B (ZERO WIDTH SPACE)"), ("\ud800", "U+D800"),
        ("\u3164", "U+3164 (HANGUL FILLER)"), ("\u2800", "U+2800 (BRAILLE PATTERN BLANK)"),
        ("a\u034f", "U+034F (COMBINING GRAPHEME JOINER)"), ("a\ufe0f", "U+FE0F (VARIATION SELECTOR-16)"),
        ("\ufffe", "U+FFFE"), ("\U0010ffff", "U+10FFFF"), ("\ue000", "U+E000"), ("\u2028", "U+2028 (LINE SEPARATOR)"),
        *((text, None) for text in ("PyTorch™ 2", "é, ß, 漢字", "µ ± 10 %", "no\u00a0break", "🚀", "a\u0301")),
    ],
)  # fmt: skip
def test_what_cannot_be_printed_is_named(text: str, named: str | None) -> None:
    """What cannot be printed is named and letters of every language can."""
    assert name_unprintable(text) == named
