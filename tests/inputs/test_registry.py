"""A workload or a backend that somebody dropped in is read, not run; a broken one stops only what names it."""

from pathlib import Path

import pytest
import yaml

from respeed.errors import UserError
from respeed.inputs import registry
from respeed.inputs.machines import load_profile
from respeed.inputs.papers import load_paper
from respeed.inputs.reader import mistakes_of
from respeed.inputs.registry import read_backend, read_workload

REFUSED = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_bytes())
METHODS = "".join(f"    def {name}(self): ...\n" for name in registry.METHODS)
WHOLE = f"""
raise SystemExit

@workload
class Base(Workload):
    size: int
    rate: float = 1.0
    precisions = ("fp64",)

    def torch(self, a, row): ...
{METHODS}
class Mine(Base):
    kind: Literal["", "wide"] = ""
    products: ClassVar = False

    @property
    def captured(self): ...
    def steps_jax(self, a, row): ...
"""
BACKEND = 'DEVICES = ("cpu",)\nPRECISIONS: tuple[str, ...] = ("fp32",)\nclass Backend: ...\nraise SystemExit\n'


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        *REFUSED["python"],
        ("x = " + "(" * 5000 + ")" * 5000, ["mine.py: is not Python: too many nested parentheses"]),
        ("x = " + "-" * 100_000 + "1", ["mine.py: is not Python: "]),
        (b"\xff\xfe", ["mine.py: is not UTF-8 text"]),
        (WHOLE.replace("def check(", "def chek(").replace("def flops(", "def flop("), [
            "mine.py: Mine has no method check", "mine.py: Mine has no method flops"]),
        (WHOLE.replace("torch(", "pytorch(").replace("steps_jax(", "step_jax("), [
            "mine.py: Mine has no step: write a method jax or numpy or program or torch or step"]),
    ],
    ids=range(13),
)  # fmt: skip
def test_a_wrong_workload_has_a_line_each(tmp_path: Path, text: str | bytes, lines: list[str]) -> None:
    path = tmp_path / "mine.py"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    said = mistakes_of(lambda: read_workload(path, "Mine"))
    assert len(said) == len(lines)
    for line, one in zip(lines, said, strict=True):
        assert line in one
        assert "\n" not in one


@pytest.mark.parametrize(("old", "new", "line"), REFUSED["backend"])
def test_a_wrong_backend_has_one_line(tmp_path: Path, old: str, new: str, line: str) -> None:
    (tmp_path / "mine.py").write_text(BACKEND.replace(old, new), "utf-8")
    (said,) = mistakes_of(lambda: read_backend(tmp_path / "mine.py"))
    assert line in said


def test_a_workload_is_read_with_its_bases(tmp_path: Path) -> None:
    """Fields are parameters and what a class inherits is its own and nothing is run."""
    path = tmp_path / "mine.py"
    path.write_text(WHOLE)
    facts = read_workload(path, "Mine")
    assert (facts.parameters, facts.options) == ({"size": "whole"}, {"rate": "real", "kind": ("wide",)})
    assert (facts.precisions, facts.products, facts.allocates) == (("fp64",), False, False)
    assert [facts.has_step_for(name) for name in ("torch", "jax", "numpy")] == [True, True, False]
    path = tmp_path / "other.py"
    path.write_text(WHOLE + '    frameworks = ("jax",)\n')
    assert [read_workload(path, "Mine").has_step_for(name) for name in ("torch", "jax")] == [False, True]
    (tmp_path / "mine_too.py").write_text(BACKEND)
    backend = read_backend(tmp_path / "mine_too.py")
    assert (backend.devices, backend.precisions, backend.framework) == (("cpu",), ("fp32",), "mine_too")


def test_a_broken_one_stops_only_what_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"rbm": "workloads/rbm.py: is not Python", "torch": "backends/torch.py: PRECISIONS: is missing"}
    for declared in (registry.workloads(), registry.backends()):
        assert not declared.broken
        for name in broken.keys() & declared.keys():
            monkeypatch.delitem(declared, name)
            monkeypatch.setitem(declared.broken, name, UserError(broken[name]))
    assert load_paper("cnn-benchmarks")
    assert load_profile("openblas-1")
    assert registry.broken_files() == [broken["rbm"], broken["torch"]]
    with pytest.raises(UserError, match=r"rbm.workload: the workload rbm cannot be used: workloads/rbm.py: is not"):
        load_paper("raina2009")
    with pytest.raises(UserError, match=r"backend: the backend torch cannot be used: backends/torch.py: PREC"):
        load_profile("torch-1")
