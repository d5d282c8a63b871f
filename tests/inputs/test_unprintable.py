"""A text that cannot be printed is refused where it stands, in every file that people write."""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.inputs.__main__ import FILES as FORMS
from respeed.inputs.config import load_config
from respeed.inputs.forms import fit
from respeed.inputs.machines import read_told
from respeed.inputs.papers import read_paper
from respeed.inputs.profiles import read_profile
from respeed.paths import HARDWARE, PAPERS, ROOT
from respeed.text import is_unprintable

TOLD = "price: {per_hour: 2.5, currency: EUR, source: a bill, date: 2026-11-01}\nslurm: {partition: gpu}\n"
FILES = {
    "hardware": yaml.safe_load((HARDWARE / "torch-1.yaml").read_text()),
    "paper": yaml.safe_load((PAPERS / "bergstra2010/paper.yaml").read_text()),
    "machine": yaml.safe_load(TOLD),
    "config": yaml.safe_load((ROOT / "config.yaml").read_text()),
}


def texts_of(data: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where there are texts."""
    if isinstance(data, str):
        yield place
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from texts_of(value, (*place, key))


def with_text(data: Any, place: tuple[Any, ...], text: str) -> Any:
    data = copy.deepcopy(data)
    inner = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] += text
    return data


@pytest.mark.parametrize("kind", FILES)
def test_every_text_is_looked_at(kind: str) -> None:
    for place in texts_of(FILES[kind]):
        line = fit(FORMS[kind], with_text(FILES[kind], place, "\u202e"), Path("it.yaml"))[1][0].line
        assert line.startswith(f"it.yaml: {'.'.join(map(str, place))}: holds the character U+202E (RIGHT-TO-LEFT OV")


@pytest.mark.parametrize("kind", FILES)
@given(st.characters().filter(is_unprintable), st.data())
def test_whatever_cannot_be_printed_is_named(kind: str, char: str, data: st.DataObject) -> None:
    place = data.draw(st.sampled_from(list(texts_of(FILES[kind]))))
    found = fit(FORMS[kind], with_text(FILES[kind], place, char), Path("it.yaml"))[1][0]
    assert found.place == place
    assert f"U+{ord(char):04X}" in found.line
    assert not any(map(is_unprintable, found.line))


@pytest.mark.parametrize(
    ("read", "name", "text", "key"),
    [
        (lambda path: read_profile("it", path.parent)[1], "it.yaml",
         (HARDWARE / "torch-1.yaml").read_text().replace("PyTorch, one core", r'"\e[31mred"'), "label"),
        (lambda path: read_told("it", path.parent)[1], "it.yaml", TOLD.replace("a bill", r'"a\nbill"'), "price.source"),
        (lambda path: read_paper("it", path.parent.parent)[1], "it/paper.yaml",
         (PAPERS / "bergstra2010/paper.yaml").read_text().replace('title: "', 'title: "\u200f', 1), "title"),
    ],
)  # fmt: skip
def test_the_line_names_the_file_the_key_and_the_character(
    tmp_path: Path, read: Callable[[Path], list[str]], name: str, text: str, key: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    (line,) = read(path)
    assert line.startswith(f"{path}: {key}: holds the character U+")


def test_a_hostile_key_is_shown_as_an_escape(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text('"\\e[2J\\u202e": 1\n')
    with pytest.raises(UserError, match=r"\\x1b\[2J\\u202e: holds the character U\+001B"):
        load_config(path)


def test_a_setting_of_the_command_line_is_looked_at_too() -> None:
    with pytest.raises(UserError, match=r"--config: machine: holds the character U\+0007"):
        load_config(overrides={"machine": "a\x07"})
