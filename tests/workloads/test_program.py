"""Programs of somebody else's: each run is a fresh process, bounded and checked, and nothing of it goes on."""

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest

from respeed.analysis.cells import make_cells
from respeed.analysis.rounds import read_rounds
from respeed.backends import make_backend
from respeed.errors import UserError, WrongResult
from respeed.inputs import config
from respeed.inputs.papers import PAPER_FILES, load_paper
from respeed.inputs.profiles import load_profile
from respeed.measure.case import Bench, make_bench, measure_case
from respeed.measure.turn import measure_turn
from respeed.model.paper import Case, Paper
from respeed.paths import RoundId
from respeed.schedule import spec as specs
from respeed.schedule.spec import RoundSpec, make_spec
from respeed.workloads import program
from tests.conftest import ROOT

EXAMPLE = ROOT / "docs/three-loops"
PYTHON = [sys.executable, "-I", "-S", "-c"]
SPEC = replace(
    make_spec(RoundId("box", "raina2009", "rbm", "openblas-1", 1, smoke=True), 1),
    profile=load_profile("program-1"),
    rehearsals=(),
)


@pytest.fixture(autouse=True, scope="module")
def _what_is_loaded_need_not_be_gone_through_before_every_case() -> Iterator[None]:
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@cache
def bench() -> Bench:
    return make_bench(make_backend("program", device="cpu", precision="fp32", threads=1, seed=1))[0]


def spec_of(*command: str, profile: str = "program-1", **said: Any) -> RoundSpec:
    parameters = {"program": {"paper": "loops", "command": [*command], **said}}
    return replace(SPEC, cases=(Case("one", "program", parameters),), profile=load_profile(profile))


def measured(*command: str, **said: Any) -> dict[str, Any]:
    return measure_case(spec_of(*command, **said), 0, bench())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of the paper `loops`."""
    for module in (program, specs):
        monkeypatch.setattr(module, "PAPERS", tmp_path)
    (tmp_path / "loops").mkdir()
    return tmp_path / "loops"


WRONG: dict[str, tuple[list[str], dict[str, Any], str, str]] = {
    "not built": (["./gone"], {}, "not-run", "there is no ./gone in workflow/papers/loops; the paper's program must"),
    "not installed": (["no-such-program"], {}, "not-run", "there is no no-such-program on the PATH"),
    "no data": (["cat", "{paper}/gone.txt"], {}, "not-run", "there is no {paper}/gone.txt in workflow/papers/loops"),
    "no executable": (["./like.txt"], {}, "failed", "./like.txt cannot be run: Permission denied"),
    "exit code": ([*PYTHON, "raise SystemExit('no n given')"], {}, "failed", "ended with exit code 1: no n given"),
    "crash": ([*PYTHON, "import os; os.abort()"], {}, "failed", "ended with SIGABRT"),
    "other signal": (["sh", "-c", "kill -40 $$"], {}, "failed", "sh ended with signal 40"),
    "long name": (["true", f"{{paper}}/{'a' * 300}"], {}, "not-run", "there is no {paper}/aaa"),
    "a pipe": (["mkfifo", "out"], {"file": "out", "like": "like.txt"}, "failed", "out, which is checked, is no plain"),
    "endless": (["sleep", "9"], {}, "failed", "had not ended after 0.5 s"),
    "talks for ever": (["yes"], {}, "failed", "yes printed more than 1 MB"),
    "nothing found": (["echo", "done"], {"time_pattern": "took (.*) s"}, "failed", "nothing that matches time_pattern"),
    "not a number": (["echo", "nan"], {"time_pattern": "(.*)"}, "failed", "printed 'nan' as its time: no number above"),
    "no time": (["echo", "0.0"], {"time_pattern": "(.*)"}, "failed", "printed '0.0' as its time: no number above 0"),
    "other unit": (["echo", "99"], {"time_pattern": "(.*)"}, "wrong", "printed 99 s as its time, and took "),
    "hard pattern": (["echo", "a" * 25 + "b"], {"time_pattern": "(a+)+$"}, "failed", "takes more than 0.1 s to look"),
    "no file": (["true"], {"file": "out", "like": "like.txt"}, "failed", "out, which is checked, cannot be read: No"),
    "no numbers": (["cp", "{paper}/words", "out"], {"file": "out", "like": "like.txt"}, "failed", "cannot be read: "),
    "fewer": (["cp", "{paper}/one", "out"], {"file": "out", "like": "like.txt"}, "wrong", "out has 1 numbers, like"),
    "others": (["cp", "{paper}/other", "out"], {"file": "out", "like": "like.txt"}, "wrong", "out is off by 0.33 of"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_program_that_does_not_do_what_it_should_has_no_time_and_a_reason_in_one_line(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "PATTERN_SECONDS", 0.1)
    monkeypatch.setattr(program, "TIMEOUT_SECONDS", 0.5 if name == "endless" else 20)
    for file, text in {"like.txt": "1 2 3", "other": "1 2 4", "one": "1", "words": "1 two 3"}.items():
        (folder / file).write_text(text)
    command, said, status, reason = WRONG[name]
    facts = measured(*command, **said)
    assert (facts["status"], facts["blocks"]) == (status, [])
    assert reason in facts["reason"]
    assert "\n" not in facts["reason"]


def test_what_a_program_computes_is_held_against_a_file_within_the_tolerance_that_the_table_says(folder: Path) -> None:
    (folder / "like-3.txt").write_text("1, 2\n3")
    (folder / "out").write_text("1.01 2 3")
    case = Case("one", "program", {"n": 3, "program": {
        "paper": "loops", "command": ["cp", "{paper}/out", "out"], "file": "out", "like": "like-{n}.txt",
        "tolerance": 0.01,
    }})  # fmt: skip
    facts = measure_case(replace(SPEC, cases=(case,)), 0, bench())
    assert facts["status"] == "measured"
    assert facts["tolerance"] == 0.01
    assert facts["errors"]["out"] == pytest.approx(0.01 / 3)


def test_a_stale_file_of_the_run_before_is_not_taken_for_the_result_of_this_one(folder: Path) -> None:
    """A program that writes its file at its first run alone."""
    (folder / "like").write_text("1")
    once = (
        f"import os; p = {str(folder / 'ran')!r}\nif not os.path.exists(p): open('out', 'w').write('1'); open(p, 'w')"
    )
    facts = measured(*PYTHON, once, file="out", like="like")
    assert (facts["status"], facts["blocks"]) == ("failed", [])


def test_a_command_is_words_and_never_goes_through_a_shell(folder: Path) -> None:
    facts = measured(
        *PYTHON,
        "import sys; print(sys.argv[1], 1e-6)",
        "$HOME; ls | *",
        time_pattern=r"^\$HOME; ls \| \* (.*)$",
    )
    assert facts["status"] == "measured"


def test_the_time_is_that_of_the_whole_process_or_the_number_that_it_prints(folder: Path) -> None:
    slow = 'import time; time.sleep(0.05); print("it took", 2.5, "ms")'
    whole = measured(*PYTHON, slow)
    assert all(second >= 0.05 for block in whole["blocks"] for second in block["sample_seconds"])
    told = measured(*PYTHON, slow, time_pattern="took ([0-9.]+) ms", time_unit="milliseconds")
    found = [(block["sample_seconds"], block["sample_steps"]) for block in told["blocks"]]
    assert {second for seconds, _ in found for second in seconds} == {0.0025}
    # As much of it is run as of what counts whole.
    assert len(found) <= 2 * len(whole["blocks"])


@pytest.mark.parametrize("first_seconds", [0.03, 0.1])
def test_every_run_is_a_fresh_process_and_the_first_is_never_timed(folder: Path, first_seconds: float) -> None:
    """At smoke timing, where a block is 0.02 s: both of what fills a block and of what does not."""
    kept = folder / "runs"
    facts = measured(
        *PYTHON, "import os, sys, time; there = os.path.exists(sys.argv[1]);"
        "open(sys.argv[1], 'a').write(f'{os.getpid()}\\n'); time.sleep(0 if there else float(sys.argv[2]))",
        str(kept), str(first_seconds + 1),
    )  # fmt: skip
    runs = kept.read_text().split()
    assert len({*runs}) == len(runs) > 1
    assert all(second < 1 for block in facts["blocks"] for second in block["sample_seconds"])


def test_a_block_tells_how_long_runs_waited_for_a_core_where_all_of_them_counts(folder: Path) -> None:
    for said, tells in (({}, Path("/proc/self/schedstat").exists()), ({"time_pattern": "(.+)"}, False)):
        blocks = measured("echo", "1e-6", **said)["blocks"]
        assert {(block["run_delay_seconds"] is not None) for block in blocks} == {tells}
        # Page faults are a part of every start of a process.
        assert {(block["minor_faults"], block["threads_ran"]) for block in blocks} == {(0, None)}


def _gone(pid: int) -> bool:
    end = time.monotonic() + 5
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


# A program with a child; both say so if they were let go on.
ALIVE = 20
LATER = f"import sys, time; time.sleep({ALIVE}); open(sys.argv[1] + '-survived', 'a')"
CHILD = f"""
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", {LATER!r}, sys.argv[1]])
with open(sys.argv[1], "w") as file:
    file.write(f"{{child.pid}} {{os.getpid()}}")
"""


@pytest.mark.parametrize(
    "then",
    [
        LATER,
        "raise SystemExit(1)",
        f"child.kill(); child.wait(); os.close(1); os.close(2)\n{LATER}",
        f"os.setsid()\n{LATER}",
    ],
    ids=["goes on", "ends", "says no more", "leaves its group"],
)
def test_nothing_that_a_run_started_goes_on_when_its_case_has_ended(
    folder: Path, then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "TIMEOUT_SECONDS", 1)
    facts = measured(*PYTHON, f"{CHILD}\n{then}", str(folder / "pids"))
    assert facts["status"] == "failed"
    assert not (folder / "pids-survived").exists()
    assert all(map(_gone, map(int, (folder / "pids").read_text().split())))
    assert not list(Path(os.environ.get("TMPDIR", "/tmp")).glob(f"respeed-program-*/{os.getpid()}"))


# A run in a process that measures nothing.
STEP = """
import sys
from types import SimpleNamespace
from respeed.model.paper import Case
from respeed.workloads import program
backend = SimpleNamespace(threads=1, describe=lambda: {"precision": "fp32"})
case = Case("one", "program", {"program": {"paper": "", "command": sys.argv[1:]}})
program.build(backend, case, program.inputs(case, 1)).step()
"""


def test_nothing_that_a_run_started_goes_on_when_the_measuring_process_is_killed(folder: Path) -> None:
    measuring = subprocess.Popen(
        [sys.executable, "-c", STEP, *PYTHON, f"{CHILD}\n{LATER}", str(folder / "pids")],
        env={**os.environ, "PYTHONPATH": str(ROOT / "workflow")},
    )
    while not (folder / "pids").exists() or not (folder / "pids").read_text():
        assert measuring.poll() is None
        time.sleep(0.02)
    measuring.kill()
    measuring.wait()
    assert all(map(_gone, map(int, (folder / "pids").read_text().split())))


def test_a_program_that_takes_more_cpus_than_its_row_has_no_time(folder: Path) -> None:
    spec = spec_of("true")
    backend = bench().backend
    built = program.build(backend, spec.cases[0], program.inputs(spec.cases[0], 1))
    for cpu_seconds in (1.04, 1.3):
        built._runs.append(program.Run("", cpu_seconds, None))
        if cpu_seconds == 1.04:
            assert built.told(1, 1.0) == 1.0
        else:
            with pytest.raises(WrongResult, match=r"took the time of 1\.3 CPUs, 1 asked"):
                built.told(1, 1.0)


def test_a_program_that_is_built_anew_while_it_is_measured_has_no_time(folder: Path) -> None:
    (folder / "script.py").write_text("1")
    facts = measured(*PYTHON, "open(__import__('sys').argv[1], 'a').write('1')", "{paper}/script.py")
    assert facts["status"] == "wrong"
    assert "was changed while it was measured" in facts["reason"]


@pytest.mark.parametrize(
    ("device", "before", "sees"),
    [
        ("cpu", {}, "-1"),
        ("cuda", {}, "0"),
        ("cuda:1", {}, "1"),
        ("cuda:1", {"CUDA_VISIBLE_DEVICES": "4,GPU-7"}, "GPU-7"),
    ],
)
def test_a_program_sees_the_device_of_its_row_alone_and_none_on_a_cpu(
    device: str, before: dict[str, str], sees: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for key, value in {**before, "MALLOC_TRIM_THRESHOLD_": "1", "OMP_NUM_THREADS": "7"}.items():
        monkeypatch.setenv(key, value)
    found = program.environment(device)
    assert (found["CUDA_VISIBLE_DEVICES"], found["OMP_NUM_THREADS"]) == (sees, "7")
    assert "MALLOC_TRIM_THRESHOLD_" not in found


# What a paper's file may say.


def example(folder: Path, change: Callable[[str], str] = str, name: str = "loops") -> Paper:
    """The example of docs/adding.md, perhaps changed."""
    (folder / name).mkdir(exist_ok=True)
    (folder / name / "paper.yaml").write_text(change((EXAMPLE / "paper.yaml").read_text()))
    (folder / name / "published.csv").write_text((EXAMPLE / "published.csv").read_text())
    return replace(PAPER_FILES, folder=folder).load(name)


def test_a_row_runs_a_program_where_its_command_names_such_rows_and_no_other_profile_runs_any(tmp_path: Path) -> None:
    paper = example(tmp_path)
    table = paper.experiments["products"]
    ran = {name: len(specs.cases_of(table, load_profile(name), smoke=False)) for name in (
        "program-1", "program-all", "program-gpu", "openblas-1", "torch-all")}  # fmt: skip
    assert ran == {"program-1": 2, "program-all": 2, "program-gpu": 0, "openblas-1": 0, "torch-all": 0}
    rbm = make_spec(SPEC.id, 1).cases
    assert rbm
    assert not specs.cases_of(load_paper("raina2009").experiments["matmul"], load_profile("program-1"), smoke=False)


def test_another_build_of_a_program_is_another_measurement(folder: Path) -> None:
    paper = example(folder.parent)

    def digest() -> str:
        found: str = make_spec(RoundId("box", "loops", "products", "program-1", 1), 1, paper=paper).digest
        return found

    absent = digest()
    (folder / "multiply").write_text("one")
    first = digest()
    os.utime(folder / "multiply", (1, 1))
    assert digest() == first != absent
    (folder / "multiply").write_text("two")
    assert digest() not in (first, absent)


# Whose programs may be run.


@pytest.fixture
def allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config.yaml of the user's own."""
    monkeypatch.setattr(config, "ROOT", tmp_path)
    (tmp_path / "config.yaml").write_text((ROOT / "config.yaml").read_text())
    return tmp_path / "config.yaml"


def test_no_program_runs_until_its_paper_is_allowed_in_config_yaml(folder: Path, allowed: Path) -> None:
    spec = spec_of("touch", str(folder / "ran"))
    with pytest.raises(
        UserError,
        match=r"^would run touch .*ran \(.*loops/paper.yaml\); if you trust it, write allow: \[loops\] in con",
    ):
        next(measure_turn([spec], ()))
    allowed.write_text(allowed.read_text().replace("allow: []", "allow: [loops-2]"))
    assert config.why_denied(spec.cases[0])
    allowed.write_text(allowed.read_text().replace("loops-2", "loops"))
    assert config.why_denied(spec.cases[0]) is None
    assert not (folder / "ran").exists()


def test_nothing_but_config_yaml_allows_programs(allowed: Path) -> None:
    """What Snakemake's command line, a profile of its, or a --configfile says, comes as settings."""
    with pytest.raises(UserError, match=r"allow: stands in .*config.yaml alone"):
        config.load_config(allowed, {"allow": ["loops"]})


def test_a_table_says_what_would_run_where_a_row_could_run_it_and_it_is_not_allowed(
    folder: Path, allowed: Path
) -> None:
    paper = example(folder.parent)
    profiles = {name: load_profile(name) for name in ("program-1", "program-all")}
    box = {"not_measurable": {"program-all": "it has one core"}}
    cells = make_cells(read_rounds([]), {"loops": paper}, profiles, {"box": box}, False)
    assert {*cells["status"]} == {"not-run"}
    reasons = dict(zip(cells["profile"], cells["reason"], strict=True))
    assert reasons["program-1"].startswith("would run ./multiply columns {n} or ./multiply rows {n} (")
    assert reasons["program-all"] == "it has one core"


def test_whoever_is_to_allow_a_paper_is_shown_every_command_of_every_table_and_where_a_word_ends(
    folder: Path, allowed: Path
) -> None:
    def change(text: str) -> str:
        start = text.index("  products:")
        second = text[start:].replace("products:", "more:").replace("./multiply", '"{tool}"')
        for size, tool in (("512", "sh -c"), ("1024", "sh -c"), ("64", "erase")):
            second = second.replace(f"n: {size},", f"tool: {tool}, n: {size},")
        return text + second

    paper = example(folder.parent, change)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "load_papers", lambda _: {"loops": paper})
        shown = [why.partition(" (")[0] for _, why in config.denied_papers(["loops"])]
    assert shown == [
        f"would run {tool} columns {{n}} or {tool} rows {{n}}" for tool in ("./multiply", "'sh -c'", "erase")
    ]
