"""Whatever stands in a file that people share, or is one, gives a value or lines: no other exception, no wait."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from respeed.inputs.papers import HEAD
from respeed.inputs.reader import from_here, mistakes_of, read_yaml
from respeed.inputs.registry import read_workload
from respeed.paths import ROOT, WORKFLOW
from tests.inputs.written import FILES, read

REFUSED = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_bytes())["yaml"]

KINDS = ("config", "cpu", "machine", "draft")
ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8),
    st.sampled_from(["all", "rbm", "gpu", "cpu", "torch", "total", "seconds", 10**30, 1e-30]),
    st.builds(list), st.builds(dict), st.builds(lambda: [[]]), st.builds(lambda: {"a": {}}),
)  # fmt: skip


# What the files are made of, so that more than the first letter is looked at.
WORDS = (": ", "&x", "*x", "!!int ", "!t ", "%TAG", "---", "...", "\\x", "\\U", "<<", "\u202e", "\ufeff")
PIECES = st.sampled_from([*"ab:\n [-]{},|>'\"#?=\t1~\0", *WORDS])
LINE = "rbm,576x1024,gpu,38.6,seconds,38.6\n"
CELLS = st.sampled_from(
    ["rbm", "576x1024", "gpu", "38.6", "seconds", "x", ",", '"', "\n", "\r", "\0", "1_0", "٣", f"{HEAD}\n", LINE]
)


@pytest.mark.parametrize("kind", [*KINDS, "raina", "printed"])
@settings(max_examples=12)  # some read a whole file
@given(data=st.data())
def test_any_file_gives_a_value_or_lines(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    """Any bytes; what the files are made of, in any order; or a part of a right file is another, or is missing."""
    parts, head = (CELLS, f"{HEAD}\n") if kind == "printed" else (PIECES, "")
    if kind == "printed" or data.draw(st.booleans()):
        made = st.lists(parts, max_size=60).map(lambda found: "".join([head, *found]).encode())
        content = data.draw(st.binary(max_size=100) | made)
    else:
        changed = yaml.safe_load(FILES[kind].text)
        for _ in range(data.draw(st.integers(1, 2))):
            replace_a_part(changed, data)
        content = yaml.safe_dump(changed, sort_keys=False, allow_unicode=True).encode("utf-8", "surrogatepass")
    value, lines = read(kind, tmp_path_factory.getbasetemp(), content)
    assert (value is None) == bool(lines)
    assert not any("\n" in line or "pydantic" in line or "nput should" in line for line in lines)


def replace_a_part(content: Any, data: st.DataObject) -> None:
    inner = content
    while True:
        keys = sorted(inner) if isinstance(inner, dict) else list(range(len(inner)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        if isinstance(inner[key], dict | list) and inner[key] and data.draw(st.integers(0, 5)):
            inner = inner[key]
            continue
        if data.draw(st.booleans()):
            inner[key] = data.draw(ODD)
        elif isinstance(inner, dict) and data.draw(st.booleans()):
            inner[data.draw(st.text(max_size=5))] = inner.pop(key)
        else:
            del inner[key]
        return


IRREGULAR: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "no regular file"),
    "folder": (Path.mkdir, "no regular file"),
    "endless": (lambda path: path.symlink_to("/dev/zero"), "no regular file"),
    "huge": (lambda path: (path.touch(), os.truncate(path, 2**40)), "larger than"),  # without a byte on the disk
}


@pytest.mark.parametrize("kind", IRREGULAR)
def test_irregular_and_large_files_are_refused(tmp_path: Path, kind: str) -> None:
    """What is no regular file or too large is refused at once."""
    readers: dict[str, Callable[[Path], object]] = {FILES[one].name: FILES[one].read for one in (*KINDS, "printed")}
    readers["mine.py"] = lambda path: read_workload(path, "Mine")
    make, complaint = IRREGULAR[kind]
    for name, reader in readers.items():
        path = tmp_path / f"of {name}" / name
        path.parent.mkdir(parents=True)
        make(path)
        (line,) = mistakes_of(lambda path=path, reader=reader: reader(path))
        assert path.name in line
        assert complaint in line
        assert "\n" not in line


def test_messages_name_files_from_where_the_user_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, shown in ((ROOT, "workflow/hardware/gpu.yaml"), (ROOT / "workflow", "hardware/gpu.yaml")):
        monkeypatch.chdir(folder)
        assert str(from_here(WORKFLOW / "hardware/gpu.yaml")) == shown
    monkeypatch.chdir(tmp_path)
    assert from_here(WORKFLOW / "hardware/gpu.yaml").parts[0] == ".."


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("yes", "yes"), ("on", "on"), ("Off", "Off"), ("012", "012"), ("0x1F", "0x1F"), ("1:30", "1:30"),
        ("1_000", "1_000"), ("2009-06-14", "2009-06-14"), ("1e3", 1000), ("1.5e-3", 0.0015), ("12", 12), ("-3", -3),
        ("0.0", 0), ("-0.5", -0.5), ("1e30", 1e30), ("123456789012345678901", 123456789012345678901),
        ("true", True), ("false", False), ("null", None), ("", None), (".inf", ".inf"), (".nan", ".nan"),
    ],
)  # fmt: skip
def test_a_scalar_is_what_it_looks_like(tmp_path: Path, text: str, value: object) -> None:
    (tmp_path / "some.yaml").write_text(f"key: {text}\n", "utf-8")
    assert repr(read_yaml(tmp_path / "some.yaml")) == repr({"key": value})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        *REFUSED,
        ("a: " + "1" * 10_000 + "\n", "is not YAML"),
        ("a:\n" * 90_000, "larger than"),
        ("a: " + "[" * 1000, "is not YAML"),
    ],
)
def test_yaml_beyond_plain_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "some.yaml").write_text(text, "utf-8")
    (line,) = mistakes_of(lambda: read_yaml(tmp_path / "some.yaml"))
    assert complaint in line
    assert "some.yaml" in line
    assert "\n" not in line
    assert len(line) < 500


@pytest.mark.parametrize("text", ["1_000", "1e3", "+1", "nan", ".", "", "0.000", "١٢٣", "²", "1.2.3", "1\u200b"])
def test_only_plain_digits_are_a_printed_number(tmp_path: Path, text: str) -> None:
    value, lines = read("printed", tmp_path, FILES["printed"].text.replace(",563,seconds,", f",{text},seconds,", 1))
    assert value is None
    assert "published.csv:2: " in lines[0]
