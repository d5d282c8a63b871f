"""Whatever stands in a file that people share gives a value or lines, never another exception."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.inputs.config import check_config, load_config
from respeed.inputs.machines import read_told
from respeed.inputs.papers import read_paper
from respeed.inputs.profiles import read_profile
from respeed.paths import HARDWARE, PAPERS, ROOT

TOLD = """
price: {per_hour: 2.5, currency: EUR, source: a bill, date: 2026-11-01}
profiles: [gpu]
slurm: {partition: gpu}
"""
# Each reads a whole file.
MOST = 12
Read = Callable[[Path], tuple[Any, list[str]]]


def config(path: Path) -> tuple[Any, list[str]]:
    lines = check_config(path)
    try:
        return load_config(path), lines
    except UserError as error:
        return None, [*lines, str(error)]


READERS: dict[str, tuple[Read, str]] = {
    "it.yaml": (lambda path: read_profile("it", path.parent), (HARDWARE / "torch-1.yaml").read_text()),
    "box.yaml": (lambda path: read_told("box", path.parent), TOLD),
    "bergstra2010/paper.yaml": (
        lambda path: read_paper("bergstra2010", path.parent.parent), (PAPERS / "bergstra2010/paper.yaml").read_text(),
    ),
    "raina2009/paper.yaml": (
        lambda path: read_paper("raina2009", path.parent.parent), (PAPERS / "raina2009/paper.yaml").read_text(),
    ),
    "config.yaml": (config, (ROOT / "config.yaml").read_text()),
}  # fmt: skip
ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8),
    st.sampled_from(["all", "rbm", "gpu", "cpu", "torch", "total", "seconds", 10**30, 1e-30]),
    st.builds(list), st.builds(dict), st.builds(lambda: [[]]), st.builds(lambda: {"a": {}}),
)  # fmt: skip


def check(name: str, folder: Path, content: bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    printed = PAPERS / path.parent.name / "published.csv"
    if printed.exists():
        (path.parent / "published.csv").write_bytes(printed.read_bytes())
    value, lines = READERS[name][0](path)
    assert (value is None) == bool(lines)
    assert not any("\n" in line for line in lines)


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=30)
@given(data=st.binary(max_size=100))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, name: str, data: bytes) -> None:
    check(name, tmp_path_factory.getbasetemp(), data)


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=MOST)
@given(data=st.data())
def test_anything_in_place_of_anything(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    """A part of a right file, at any depth, is another or is missing."""
    content = yaml.safe_load(READERS[name][1])
    for _ in range(data.draw(st.integers(1, 2))):
        replace_a_part(content, data)
    text = yaml.safe_dump(copy.deepcopy(content), sort_keys=False, allow_unicode=True)
    check(name, tmp_path_factory.getbasetemp(), text.encode("utf-8", "surrogatepass"))


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
