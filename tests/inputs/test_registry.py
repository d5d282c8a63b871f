"""A workload or a backend that somebody dropped in is read, not run; a broken one stops only what names it."""

import functools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.inputs import registry
from respeed.inputs.papers import read_paper
from respeed.inputs.profiles import read_profile
from respeed.inputs.registry import BackendFacts, WorkloadFacts, read_facts
from tests.inputs.written import REFUSED

WHOLE = 'PARAMETERS = {"size": "whole"}\nTESTS = {"smoke": {"size": 3}}\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        *REFUSED["python"],
        ("x = " + "(" * 5000 + ")" * 5000, "mine.py:1: is not Python: too many nested parentheses"),
        ("x = " + "-" * 100_000 + "1", "mine.py"),
        (b"\xff\xfe", "mine.py: is not UTF-8 text"),
    ],
    ids=range(18),
)
def test_what_is_wrong_is_one_line_with_its_place(tmp_path: Path, text: str | bytes, line: str) -> None:
    path = tmp_path / (line.partition(":")[0] if text == WHOLE else "mine.py")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError) as error:
        read_facts(path, WorkloadFacts)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_nothing_of_a_file_is_run(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f'{WHOLE}ASKS: tuple[str, ...] = ("draws",)\nPATTERN = "\\d"\nraise SystemExit\n')
    facts = read_facts(tmp_path / "mine.py", WorkloadFacts)
    assert (facts.parameters, facts.asks, facts.products) == ({"size": "whole"}, ("draws",), True)


def test_a_class_has_the_constants_of_its_file_but_for_its_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        'DEVICES = ("cpu",)\nPRECISIONS = mine.NONE\nclass Mine:\n    PRECISIONS: tuple[str, ...] = ("fp32",)\n'
    )
    facts = read_facts(path, BackendFacts, "Mine")
    assert (facts.devices, facts.precisions) == (("cpu",), ("fp32",))
    with pytest.raises(UserError, match=r"mine\.py:2: PRECISIONS must be written out"):
        read_facts(path, BackendFacts)


def test_a_file_named_as_a_workload_of_another_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text('FAMILIES = {"many": ("one", "two")}\n')
    (tmp_path / "many.py").write_text('DEVICES = ("cpu",)\nPRECISIONS = ("fp32",)\n')
    (tmp_path / "two.py").write_text("")
    usable, broken = registry._read(tmp_path)
    assert list(usable) == ["one"]
    assert broken["two"].endswith("/many.py has one of this name; take another")


@given(st.one_of(st.binary(max_size=80), st.text("PARAMETS={}\"':x\n(),", max_size=80).map(str.encode)))
def test_any_bytes_give_a_line_or_nothing(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "mine.py"
    path.write_bytes(data)
    with pytest.raises(UserError) as error:
        read_facts(path, WorkloadFacts)
    assert "\n" not in str(error.value)


def test_every_workload_and_backend_of_the_project_can_be_used() -> None:
    assert registry.broken_files() == []
    assert registry.backends_of("rbm")
    assert registry.backends_of("one that is gone") == ()


def test_a_broken_one_stops_only_what_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"rbm": "workloads/rbm.py:1: is not Python", "torch": "backends/torch.py: has no PRECISIONS"}
    read = registry._read

    def without(folder: Path) -> object:
        usable = {name: facts for name, facts in read(folder)[0].items() if name not in broken}
        return usable, broken

    monkeypatch.setattr(registry, "_read", without)
    for name in ("workloads", "backends"):
        monkeypatch.setattr(registry, name, functools.cache(getattr(registry, name).__wrapped__))
        for module in ("experiments", "papers", "profiles"):
            monkeypatch.setattr(f"respeed.inputs.{module}.{name}", getattr(registry, name), raising=False)
    paper, mistakes = read_paper("raina2009")
    assert paper is None
    assert any(
        line.endswith("experiments.rbm.workload: the workload rbm cannot be used: workloads/rbm.py:1: is not Python")
        for line in mistakes
    )
    assert read_paper("cnn-benchmarks")[0] is not None
    assert read_profile("openblas-1")[0] is not None
    profile, mistakes = read_profile("torch-1")
    assert profile is None
    assert mistakes[0].endswith("backend: the backend torch cannot be used: backends/torch.py: has no PRECISIONS")
