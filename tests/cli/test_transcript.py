"""All that commands say of known records, word by word: transcript.txt, a terminal's lines."""

import contextlib
import importlib
import inspect
import re
import shlex
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from respeed import commands, files, outcome, output
from respeed.cli import build_parser, main
from respeed.measure.progress import Progress
from respeed.records import read_description
from respeed.schedule import plan, rows, run
from respeed.schedule.work import Work
from tests.conftest import ROOT
from tests.known import assert_known
from tests.made import write_machines

TRANSCRIPT = Path(__file__).with_name("transcript.txt")
# Sizes and checksums of zip files, today's date, and the data sheets there are.
VARIES = re.compile("[0-9,]+ bytes|(?<=, imported ).*, sha256 [0-9a-f]+|there are: accelerate.*")


@pytest.fixture(autouse=True)
def _known_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The laptop of the known records, without an accelerator, and folders of its own for what is new."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    with tarfile.open(ROOT / "tests/golden/records.tar.xz") as archive:
        archive.extractall(filter=lambda one, path: tarfile.data_filter(one, path) if "laptop" in one.name else None)
    write_machines(1, rounds=2, smoke=True, cases=("36x64",))
    laptop = read_description("laptop", False)
    for module in (outcome, rows, run):
        monkeypatch.setattr(module, "describe_machine", laptop.hardware.model_dump)
    monkeypatch.setattr(plan, "package_versions", dict)
    monkeypatch.setattr(rows, "missing_device", lambda device: None if device == "cpu" else "no CUDA device")
    monkeypatch.setattr(files, "ROOT", tmp_path)
    monkeypatch.setattr(files, "STUDY", tmp_path)
    for kind, (folder, _) in files.KINDS.items():
        place = "workflow/respeed" if kind in ("workload", "backend") else "workflow"
        (tmp_path / place / folder).mkdir(parents=True)
    monkeypatch.setattr(files, "BACKENDS", tmp_path / "workflow/respeed/backends")
    (tmp_path / "workflow/respeed/workloads/matmul.py").touch()
    (tmp_path / "workflow/papers/raina2009").mkdir()
    monkeypatch.setattr(files, "folders_of", lambda kind: [*(tmp_path / "workflow").glob(f"**/{kind}")])

    def measure(work: Work, progress: Progress, budget: float | None, wait: float | None) -> bool:
        cells = [one.place[0] + " " + one.case.name for one in work.wanted][:3]
        progress.say(f"measures {len(work.wanted)}: {cells}, {work.preset}, {work.since}; {budget=}, {wait=}")
        return budget != 0

    monkeypatch.setattr(commands, "measure_session", measure)
    monkeypatch.setattr("respeed.inputs.config.machine_slug", lambda: "laptop")
    parts = ("build_tables", "build_figures", "build_report", "build_review")
    said = {name: lambda *given, name=name: f"{name}{given}" for name in parts}
    for name in parts:
        monkeypatch.setattr(output, name, said[name], raising=False)
    for module in ("figures", "report"):
        monkeypatch.setitem(sys.modules, f"respeed.{module}", SimpleNamespace(**said))


@pytest.mark.known
def test_commands_explain_take_and_say_what_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    """The commands are those of the transcript; of those with `parse`, what their functions are called with."""
    lines = []
    for line in (line for line in TRANSCRIPT.read_text("utf-8").splitlines() if line.startswith("$ ")):
        (_, program, *words), code = shlex.split(line), None
        if program == "parse":
            options = vars(build_parser().parse_args(words))
            module, _, function = options.pop("function").partition(":")
            command = getattr(importlib.import_module(f"respeed.{module}"), function)
            text = f"{module}:{function} {inspect.signature(command).bind(**options).arguments}\n"
        else:
            with contextlib.suppress(SystemExit):  # after --help
                code = main(words)
            text = "".join(capsys.readouterr()) + f"exit code {code}\n" * bool(code)
        lines.append(f"{line}\n{VARIES.sub('...', text)}")
    made = sorted(path for path in Path("workflow").rglob("*") if path.is_file())
    written = [f"{path}: {line}\n" for path in made for line in path.read_text("utf-8").splitlines()]
    lines += [line for line in written if re.search(rf": .*([Mm]ine|[Mm]y_?[Oo]wn|\b{files.PLACEHOLDER}\b)", line)]
    lines += [f"{path}: {Path(path).read_text('utf-8')!r}\n" for path in ("log", "stamp")]
    assert_known(TRANSCRIPT, "".join(lines))
