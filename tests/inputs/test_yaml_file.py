"""YAML as people mean it."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.inputs.yaml_loader import MAX_BYTES, read_yaml


def read(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "some.yaml"
    path.write_text(text)
    return read_yaml(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("yes", "yes"), ("on", "on"), ("Off", "Off"), ("012", "012"), ("0x1F", "0x1F"), ("1:30", "1:30"),
        ("1_000", "1_000"), ("2009-06-14", "2009-06-14"), ("1e3", 1000), ("1.5e-3", 0.0015), ("12", 12), ("-3", -3),
        ("0.0", 0), ("-0.5", -0.5), ("1e30", int(1e30)), ("123456789012345678901", 123456789012345678901),
        ("true", True), ("false", False), ("null", None), ("", None), (".inf", ".inf"), (".nan", ".nan"),
    ],
)  # fmt: skip
def test_a_scalar_is_what_it_looks_like(tmp_path: Path, text: str, value: object) -> None:
    assert read(tmp_path, f"key: {text}\n") == {"key": value}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: 1\na: 2\n", "stands twice"),
        ("a: &x 1\nb: *x\n", "aliases"),
        ("a: !!python/object/apply:os.system [ls]\n", "tags (!!python/object/apply:os.system) are not"),
        ("a: !!int ''\n", "tags (!!int) are not"),
        ("a: !!bool maybe\n", "tags (!!bool) are not"),
        ("a: !!timestamp abc\n", "tags (!!timestamp) are not"),
        ("a: !!map [1]\n", "tags (!!map) are not"),
        ("a: !!binary x\n", "tags (!!binary) are not"),
        ("!!set {a, b}\n", "tags (!!set) are not"),
        ("a: !local 1\n", "tags (!local) are not"),
        ("a: ! 1\n", "tags (!) are not"),
        ("%TAG ! tag:yaml.org,2002:\n---\na: !int 1\n", "tags (!!int) are not"),
        ("!!str a: 1\n", "tags (!!str) are not"),
        ('a: "\\UFFFFFFFF"\n', "is not YAML"),
        ("a: 1\nb: \0\n", "yaml:2: the character U+0000 cannot stand here"),
        ("a: 1\n---\nb: 1\n", "but found another document"),
        ("a: 1" + "0" * 31 + "\n", "too large"),
        ("a: " + "1" * 10_000 + "\n", "too large"),
        ("a: 1e-40\n", "too small"),
        ("a: [" + "1," * 20_001 + "]\n", "more than 20000 values"),
        ("a:\n" * 90_000, "more than 20000 values"),
        ("a: [1, 2\n", "expected ',' or ']'"),
        ("1: a\n", "must be text"),
        ("a: 1e999\n", "too large"),
        ("a: " + "[" * 30 + "]" * 30 + "\n", "nested too deeply"),
    ],
)
def test_what_is_not_plain_is_refused_in_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(UserError) as error:
        read(tmp_path, text)
    assert complaint in str(error.value)
    assert "some.yaml" in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500


def test_a_huge_file_is_not_even_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="larger than"):
        read(tmp_path, " " * (MAX_BYTES + 1))


# What YAML is made of, so that more than the first letter is looked at.
PIECES = st.sampled_from(
    ["a", "b", ": ", ":", "\n", "  ", "- ", "[", "]", "{", "}", ",",
     "&x", "*x", "!!int ", "!t ", "|", ">", "'", '"', "#",
     "%TAG", "---", "...", "?", "\\x", "\\U", "<<", "=", "\t", "1", "1e9", "0x1", "~", "null", "\u202e", "\ufeff", "\0"]
)  # fmt: skip


@given(st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=60).map(lambda found: "".join(found).encode())))
def test_any_bytes_give_a_value_or_a_refusal(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(data)
    with contextlib.suppress(UserError):
        read_yaml(path)
