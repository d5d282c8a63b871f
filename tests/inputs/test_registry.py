"""A workload or a backend that somebody dropped in is read, not run; a broken one stops only what names it."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from respeed.errors import UserError
from respeed.inputs import registry
from respeed.inputs.forms import Mistakes
from respeed.inputs.papers import load_paper
from respeed.inputs.profiles import load_profile
from respeed.inputs.registry import read_backend, read_workload

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
        read_workload(path, "Mine")
    assert any(line in said for said in mistakes)
    assert not any("\n" in said for said in mistakes)


WHOLE = """
raise SystemExit

@dataclass(frozen=True, kw_only=True)
class Base(Workload):
    size: int
    rate: float = 1.0
    precisions: ClassVar[tuple[str, ...]] = ("fp64",)

    def torch(self, a, row): ...

class Mine(Base):
    kind: Literal["", "wide"] = ""
    products: ClassVar = False
    tests: ClassVar = {"smoke": {"size": 1}}

    @property
    def captured(self): ...
    def steps_jax(self, a, row): ...
"""


def test_fields_are_parameters_and_what_a_class_inherits_is_its_own_and_nothing_is_run(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(WHOLE)
    facts = read_workload(path, "Mine")
    assert (facts.parameters, facts.options) == ({"size": "whole"}, {"rate": "real", "kind": ("wide",)})
    assert (facts.precisions, facts.products, facts.allocates) == (("fp64",), False, False)
    assert [facts.has_step_for(name) for name in ("torch", "jax", "numpy")] == [True, True, False]
    path = tmp_path / "other.py"
    path.write_text(WHOLE + '    frameworks: ClassVar = ("jax",)\n')
    assert [read_workload(path, "Mine").has_step_for(name) for name in ("torch", "jax")] == [False, True]


def test_a_backend_says_what_it_has_in_literals(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text('DEVICES = ("cpu",)\nPRECISIONS: tuple[str, ...] = ("fp32",)\nraise SystemExit\n')
    facts = read_backend(path)
    assert (facts.devices, facts.precisions, facts.framework) == (("cpu",), ("fp32",), "")
    path = tmp_path / "other.py"
    path.write_text('DEVICES = ("cpu",)\nPRECISIONS = mine.ALL\n')
    with pytest.raises(UserError, match=r"other\.py:2: PRECISIONS must be written out"):
        read_backend(path)


@given(st.one_of(st.binary(max_size=80), st.text("PARAMETS={}\"':x\n(),", max_size=80).map(str.encode)))
def test_any_bytes_give_a_line(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "mine.py"
    path.write_bytes(data)
    with pytest.raises(UserError) as error:
        read_workload(path, "Mine")
    assert "\n" not in str(error.value)


def test_every_workload_and_backend_of_the_project_can_be_used() -> None:
    assert registry.broken_files() == []
    assert registry.backends_of("rbm")
    assert registry.backends_of("one that is gone") == ()


def test_a_broken_one_stops_only_what_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"rbm": "workloads/rbm.py: is not Python", "torch": "backends/torch.py: PRECISIONS: is missing"}
    for kind in ("workloads", "backends"):
        whole = getattr(registry, f"read_{kind}")()[0]
        left = {name: facts for name, facts in whole.items() if name not in broken}
        monkeypatch.setattr(registry, f"read_{kind}", lambda left=left: (left, broken))
        getattr(registry, kind).cache_clear()
    try:
        assert load_paper("cnn-benchmarks")
        assert load_profile("openblas-1")
        with pytest.raises(UserError, match=r"rbm.workload: the workload rbm cannot be used: workloads/rbm.py: is not"):
            load_paper("raina2009")
        with pytest.raises(UserError, match=r"backend: the backend torch cannot be used: backends/torch.py: PREC"):
            load_profile("torch-1")
    finally:
        for kind in ("workloads", "backends"):
            getattr(registry, kind).cache_clear()
