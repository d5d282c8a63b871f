"""The notebook's own code, on the records of known machines: its picture, its table of predictions, its class."""

import json
import shutil
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

from tests.conftest import ROOT
from tests.golden.test_golden import build

CELLS = json.loads((ROOT / "docs/respeed.ipynb").read_text("utf-8"))["cells"]


def code_after(heading: str) -> str:
    """The code below a heading."""
    (number,) = (number for number, cell in enumerate(CELLS) if "".join(cell["source"]).startswith(f"## {heading}\n"))
    return "".join(CELLS[number + 1]["source"])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("known")
    build(folder)
    return folder


@pytest.fixture
def notebook(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of a notebook that has measured: of its commands, those that were given are kept."""
    mpl.use("agg")
    monkeypatch.chdir(tmp_path)
    folder = Path("respeed")
    shutil.copytree(built, folder)
    commands: list[tuple[str, ...]] = []

    def run(*command: str, well: tuple[int, ...] = (0,)) -> None:
        commands.append(command)

    predicted = {"this CPU over the CPU of 2009": 10, "this GPU over the GPU of 2009": 20, "this GPU over this CPU": 30}
    return {
        "FOLDER": folder, "SMOKE": [], "RESPEED": ("respeed",), "PREDICTED": predicted, "Path": Path, "run": run,
        "commands": commands,
    }  # fmt: skip


def show_alone(machine: str) -> None:
    """Leave one machine in the tables."""
    for name in ("cells", "speedups"):
        path = Path(f"respeed/results/tables/{name}.csv")
        head, *lines = path.read_text("utf-8").splitlines(keepends=True)
        path.write_text(head + "".join(line for line in lines if line.startswith(machine)), "utf-8")


def test_a_class_predicts_before_it_measures() -> None:
    with pytest.raises(SystemExit, match="Predict first"):
        exec(code_after("Predict first"))


@pytest.mark.parametrize(("machine", "bars"), [("desk", 4), ("server", 2)])
def test_the_picture_has_then_and_now(notebook: dict[str, Any], machine: str, bars: int) -> None:
    show_alone(machine)
    code, _, last = code_after("Then and now").rpartition("\n")
    exec(code, notebook)
    labels = [text.get_text() for text in notebook["axes"].get_yticklabels()]
    assert labels[0] == "dual-core CPU, 2009"
    assert labels[bars // 2].startswith("Intel(R) Xeon(R)" if machine == "desk" else "AMD EPYC")
    assert len(labels) == bars
    shown = [text.get_text() for text in notebook["axes"].texts]
    assert shown[0] == "34.8 h"  # 125,381 seconds, as printed
    table = eval(last, notebook)
    assert table["predicted"].tolist() == [10, 20, 30]
    gain = table.loc["this GPU over this CPU", "measured"]
    assert (gain == 32.6) if bars == 4 else (gain != gain)
    plt.close("all")


@pytest.mark.parametrize(
    ("machine", "title"),
    [("desk", "GPU over the fastest CPU row"), ("server", "fastest CPU row over one core of OpenBLAS")],
)
def test_the_class_is_one_figure(notebook: dict[str, Any], machine: str, title: str) -> None:
    if machine == "server":
        shutil.rmtree("respeed/results/records/desk")
        show_alone("server")
    exec(code_after("Then and now").partition("case, times")[0], notebook)
    Path("class").mkdir()
    Path("class/Ada L.zip").touch()
    notebook["read_rbms"] = lambda: {"machine": [machine]}
    exec(code_after("The class"), notebook)
    assert ("respeed", "import", str(Path("class/Ada L.zip").resolve()), "--as", "ada-l") in notebook["commands"]
    axes = notebook["axes"]
    assert axes.get_ylabel() == title
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "this machine",
        "the class",
        "published, 2009",
    ]
    plt.close("all")
