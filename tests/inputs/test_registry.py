"""A workload or a backend that somebody dropped in is read, not run; a broken one stops only what names it."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.inputs import registry
from respeed.inputs.forms import Mistakes
from respeed.inputs.papers import load_paper
from respeed.inputs.profiles import load_profile
from respeed.inputs.registry import BackendFacts, WorkloadFacts, read_facts

REFUSED = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_text())["python"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        *REFUSED,
        ("x = " + "(" * 5000 + ")" * 5000, "mine.py: is not Python: too many nested parentheses"),
        ("x = " + "-" * 100_000 + "1", "mine.py"),
        (b"\xff\xfe", "mine.py: is not UTF-8 text"),
    ],
    ids=range(12),
)
def test_what_is_wrong_is_a_line_with_its_place(tmp_path: Path, text: str | bytes, line: str) -> None:
    path, mistakes = tmp_path / "mine.py", Mistakes()
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with mistakes.collecting():
        read_facts(path, WorkloadFacts)
    assert any(line in said for said in mistakes)
    assert not any("\n" in said for said in mistakes)


def test_nothing_of_a_file_is_run(tmp_path: Path) -> None:
    whole = 'PARAMETERS = {"size": "whole"}\nTESTS = {}\n'
    (tmp_path / "mine.py").write_text(f'{whole}ASKS: tuple[str, ...] = ("draws",)\nPATTERN = "\\d"\nraise SystemExit\n')
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


@given(st.one_of(st.binary(max_size=80), st.text("PARAMETS={}\"':x\n(),", max_size=80).map(str.encode)))
def test_any_bytes_give_a_line(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
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
    broken = {"rbm": "workloads/rbm.py: is not Python", "torch": "backends/torch.py: PRECISIONS: is missing"}
    whole = registry.read_folder

    def without(folder: Path) -> Any:
        return {name: facts for name, facts in whole(folder)[0].items() if name not in broken}, broken

    monkeypatch.setattr(registry, "read_folder", without)
    for name in ("workloads", "backends"):
        getattr(registry, name).cache_clear()
    try:
        assert load_paper("cnn-benchmarks")
        assert load_profile("openblas-1")
        with pytest.raises(UserError, match=r"rbm.workload: the workload rbm cannot be used: workloads/rbm.py: is not"):
            load_paper("raina2009")
        with pytest.raises(UserError, match=r"backend: the backend torch cannot be used: backends/torch.py: PREC"):
            load_profile("torch-1")
    finally:
        for name in ("workloads", "backends"):
            getattr(registry, name).cache_clear()
