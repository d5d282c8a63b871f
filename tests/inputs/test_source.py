"""A workload or a backend that somebody dropped in is read, not run; a broken one stops only what names it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.inputs import experiments, hardware, modules, source
from respeed.inputs.hardware import read_profile
from respeed.inputs.papers import read_paper
from respeed.inputs.source import BACKEND, WORKLOAD, what_is_wrong
from respeed.paths import BACKENDS, WORKLOADS

WHOLE = 'PARAMETERS = {"size": "whole"}\nTESTS = {"smoke": {"size": 3}}\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def f(:\n", "mine.py:1: is not Python: "),
        ("\n\nx = (1\n", "mine.py:3: is not Python: '(' was never closed"),
        ("x = 1\0", "is not Python: source code"),
        ("x = " + "(" * 5000 + ")" * 5000, "mine.py:1: is not Python: too many nested parentheses"),
        ("x = " + "-" * 100_000 + "1", "mine.py"),
        (b"\xff\xfe", "mine.py: is not UTF-8 text"),
        ("", "mine.py: has no PARAMETERS; write a mapping such as"),
        ('PARAMETERS = {"size": "whole"}', "mine.py: has no TESTS; write a mapping of"),
        ('PARAMETERS = {"size": "hole"}', "mine.py:1: PARAMETERS must be a mapping such as"),
        ("PARAMETERS = open('/etc/passwd')", "mine.py:1: PARAMETERS must be written out"),
        (f"{WHOLE}PRECISIONS = 'fp32'", "mine.py:3: PRECISIONS must be names such as"),
        (f"{WHOLE}ASKS = (1,)", "mine.py:3: ASKS must be names such as"),
        (f"{WHOLE}PRODUCTS = 'no'", "mine.py:3: PRODUCTS must be True or False"),
    ],
    ids=range(13),
)
def test_what_is_wrong_is_one_line_with_its_place(tmp_path: Path, text: str | bytes, line: str) -> None:
    path = tmp_path / "mine.py"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found = what_is_wrong(path, WORKLOAD) or ""
    assert line in found
    assert "\n" not in found


@pytest.mark.parametrize("name", ["no-name.py", "class.py", "a b.py"])
def test_a_file_that_python_cannot_import_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(WHOLE)
    assert "no Python file that can be imported" in (what_is_wrong(tmp_path / name, WORKLOAD) or "")


def test_what_is_right_has_no_line(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f'{WHOLE}ASKS: tuple[str, ...] = ("draws",)\nPATTERN = "\\d"\n')
    assert what_is_wrong(tmp_path / "mine.py", WORKLOAD) is None


def test_a_constant_may_be_that_of_a_module_beside_it(tmp_path: Path) -> None:
    (tmp_path / "_shared.py").write_text('PRECISIONS = ("fp32",)\n')
    (tmp_path / "mine.py").write_text('from x import _shared\nDEVICES = ("cpu",)\nPRECISIONS = _shared.PRECISIONS\n')
    assert what_is_wrong(tmp_path / "mine.py", BACKEND) is None
    assert source.read_constant(tmp_path / "mine.py", "PRECISIONS") == ("fp32",)


@given(st.one_of(st.binary(max_size=80), st.text("PARAMETS={}\"':x\n(),", max_size=80).map(str.encode)))
def test_any_bytes_give_a_line_or_nothing(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "mine.py"
    path.write_bytes(data)
    assert "\n" not in (what_is_wrong(path, WORKLOAD) or "")


def test_every_workload_and_backend_of_the_project_is_right() -> None:
    assert modules.broken_modules(WORKLOADS) == {}
    assert modules.broken_modules(BACKENDS) == {}


def test_a_broken_one_stops_only_what_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"rbm": "workloads/rbm.py:1: is not Python", "torch": "backends/torch.py: has no PRECISIONS"}
    monkeypatch.setattr(modules, "broken_modules", lambda folder: broken)
    monkeypatch.setattr(experiments, "workload_parameters", modules.workload_parameters.__wrapped__)
    monkeypatch.setattr(hardware, "backend_devices", modules.backend_devices.__wrapped__)
    paper, mistakes = read_paper("raina2009")
    assert paper is None
    assert any(
        line.endswith("experiments.rbm.workload: the workload rbm cannot be used: workloads/rbm.py:1: is not Python")
        for line in mistakes
    )
    assert read_paper("bergstra2010")[0] is not None
    assert read_profile("openblas-1")[0] is not None
    profile, mistakes = read_profile("torch-1")
    assert profile is None
    assert mistakes[0].endswith("backend: the backend torch cannot be used: backends/torch.py: has no PRECISIONS")
