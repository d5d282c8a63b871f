"""Rounds in processes of their own, for real: what they write, and what happens when one of these is in trouble."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from respeed.analysis.rounds import read_rounds
from respeed.machine.lock import machine_lock
from respeed.measure.turn import how_it_ended, measure_spec, measure_turn
from respeed.paths import RoundId, round_path
from respeed.records.store import read_file, write_record
from respeed.schedule.spec import make_spec
from tests.signals import STOPPED, hear_all

ROUND = RoundId("box", "raina2009", "rbm", "openblas-1", 1, smoke=True)
COMMAND = [sys.executable, "-m", "respeed", "measure", "--config", "preset=smoke", "experiments=rbm",
           "profiles=openblas-1", "machine=box"]  # fmt: skip
GROUP = Path("/sys/fs/cgroup/memory")
# What a shell may say of threads, compilers and letters.
FOREIGN = {
    "OMP_NUM_THREADS": "64", "OMP_PROC_BIND": "close", "MKL_NUM_THREADS": "9", "MKL_DYNAMIC": "TRUE",
    "OPENBLAS_NUM_THREADS": "7", "OPENBLAS_CORETYPE": "Prescott", "KMP_AFFINITY": "compact", "GOMP_CPU_AFFINITY": "0",
    "NUMBA_DISABLE_JIT": "1", "NUMBA_NUM_THREADS": "5", "PYTHONMALLOC": "debug", "PYTHONUTF8": "0",
    "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "POSIX",
}  # fmt: skip


def measured(folder: Path) -> dict[str, Any]:
    """The round, measured, written and read."""
    path = folder / round_path(ROUND)
    write_record(path, measure_spec(make_spec(ROUND, 1)))
    return read_file(path, ROUND.smoke)


def plant(monkeypatch: pytest.MonkeyPatch, folder: Path, code: str) -> None:
    """Run the code in every measuring process, as it starts."""
    folder.mkdir()
    lines = "".join(f"    {line}\n" for line in code.strip().splitlines())
    text = f"import sys\nif 'respeed.measure.worker' in ' '.join(sys.orig_argv):\n{lines}"
    (folder / "sitecustomize.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)


def test_a_round_measures_every_case_and_records_how_and_where(tmp_path: Path) -> None:
    record, spec = measured(tmp_path), make_spec(ROUND, 1)
    assert {case["case"] for case in record["cases"]} == {"36x64", "64x256", "144x1000", "256x688"}
    for case in record["cases"]:
        assert case["status"] == "measured", case["reason"]
        assert 0 <= max(case["errors"].values()) <= case["tolerance"]
        assert case["blocks"]
        # Only a step that fills a block is timed from its first on.
        assert case["warmup"]["steps"] > 0 or case["warmup"]["step_seconds"] > spec.timing.block_seconds
    provenance = record["provenance"]
    environment, backend = provenance["environment"], provenance["backend"]
    assert environment["OPENBLAS_NUM_THREADS"] == environment["OMP_NUM_THREADS"] == "1"
    assert environment["MALLOC_TRIM_THRESHOLD_"] == "4294967295"
    assert (backend["threads_set"], backend["library"], len(provenance["affinity"])) == (1, "OpenBLAS", 1)
    assert provenance["threads_proof"]["threads_ran"] in (1, None)
    assert record["ceilings"]["flops_per_second"] > 1e8
    assert record["ceilings"]["bytes_per_second"] > 1e7
    files = " ".join(library["file"] for library in provenance["libraries"])
    assert "numpy" in files
    assert "scipy" in files
    assert record["id"] == asdict(ROUND)


def test_a_profile_that_needs_no_torch_never_imports_it() -> None:
    code = (
        "import sys; from respeed.backends import make_backend; "
        "import respeed.measure.case, respeed.timing.blocks;"
        "make_backend('numpy', device='cpu', precision='fp32', threads=1, seed=1);"
        "print('torch' in sys.modules, 'pandas' in sys.modules, 'snakemake' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "False"]


def test_a_case_whose_process_dies_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A workload that kills its process at one size: the other cases are measured all the same."""
    deadly = """
import os, signal
from respeed.workloads.rbm import Rbm
original = Rbm.arrays
def arrays(self, random):
    if self.visible == 64: os.kill(os.getpid(), signal.SIGKILL)
    return original(self, random)
Rbm.arrays = arrays
"""
    plant(monkeypatch, tmp_path / "deadly", deadly)
    found = {case["case"]: case for case in measured(tmp_path)["cases"]}
    assert {name: case["status"] for name, case in found.items()} == {
        "36x64": "measured", "64x256": "failed", "144x1000": "measured", "256x688": "measured",
    }  # fmt: skip
    assert "killed" in found["64x256"]["reason"]


@pytest.mark.parametrize(
    ("bad", "is_lost", "processes"),
    [(1, True, 2), (1, False, 1), (4, True, 3)],
    ids=["lost", "out of memory", "lost each time"],
)
def test_a_case_that_leaves_its_process_without_the_device_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: int, is_lost: bool, processes: int
) -> None:
    """An error after which every call fails: the case has it as its reason, and the next ones a new process; after
    three, the others of the turn are not begun."""
    cases = ["64x256", "36x64", "144x1000", "256x688"]
    error = "CUDA error: an illegal memory access was encountered" if is_lost else "CUDA out of memory"
    failing = f"""
import os
from respeed.backends import Backend
from respeed.workloads.rbm import Rbm
open({str(tmp_path / "processes")!r}, 'a').write(f'{{os.getpid()}}\\n')
original, failed = Rbm.arrays, []
def arrays(self, random):
    name = f'{{self.visible}}x{{self.hidden}}'
    if name in {cases[:bad]}: failed.append(True)
    if name in {cases[:bad]} or failed and {is_lost}: raise RuntimeError({error!r})
    return original(self, random)
def sync(self):
    if failed and {is_lost}: raise RuntimeError({error!r})
Rbm.arrays, Backend.sync = arrays, sync
"""
    plant(monkeypatch, tmp_path / "failing", failing)
    told = [(case["case"], case["status"], case["reason"]) for case in measured(tmp_path)["cases"]]
    failed = [one for one in told if one[1:] == ("failed", f"RuntimeError: {error}")]
    assert {name for name, *_ in failed} <= set(cases[:bad])
    assert len(failed) == min(bad, 3)
    assert {one[1:] for one in told if one not in failed} == {
        ("measured", None) if bad == 1 else ("not-run", "3 other cases left the device useless")
    }
    assert len((tmp_path / "processes").read_text().split()) == processes


@pytest.mark.parametrize(("attempts", "clean"), [(0, True), (1, True), (5, False)])
def test_rounds_of_a_profile_share_a_process_and_what_was_disturbed_is_measured_again_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempts: int, clean: bool
) -> None:
    """The first so many attempts at the case 64x256 have used up a quota."""
    disturbing = f"""
from respeed.measure import case
left, original = [{attempts}], case._measure
def measure(spec, which, workload, bench, facts):
    original(spec, which, workload, bench, facts)
    if facts['case'] == '64x256' and left[0] > 0:
        left[0] -= 1
        facts['blocks'] = [block | {{'quota_throttles': 1}} for block in facts['blocks']]
case._measure = measure
"""
    plant(monkeypatch, tmp_path / "disturbed", disturbing)
    specs = [make_spec(replace(ROUND, experiment=name), 1) for name in ("rbm", "matmul")]
    begun: list[tuple[str, str, bool]] = []
    with machine_lock() as lock:
        told = list(measure_turn(specs, lock, watch=lambda *what: begun.append(what)))
    # Each round is told when it is done.
    (_, first), (_, second), *_ = told
    assert first["provenance"] == second["provenance"]
    assert first["start_seconds"] == second["start_seconds"] > 0
    assert first["started"] <= second["started"]
    for record, start in ((first, first["start_seconds"]), (second, 0.0)):
        assert {case["status"] for case in record["cases"]} == {"measured"}
        cases = sum(case["wall_seconds"] for case in record["cases"])
        assert cases <= record["wall_seconds"] == pytest.approx(cases + start, abs=1.0)
    again = [what for what in begun if what[2]]
    assert again == [("rbm", "64x256", True)] * min(attempts, 1)
    assert begun[len(begun) - len(again) :] == again  # after everything else of the turn
    assert [one.experiment for one, _ in told] == ["rbm", "matmul", *["rbm"] * len(again)]
    (case,) = [case for case in dict(told)[specs[0].id]["cases"] if case["case"] == "64x256"]
    assert case.get("attempts", 1) == 1 + len(again)
    # What was disturbed stays in the record, and the cell counts the round once.
    (row,) = read_rounds([dict(told)[specs[0].id]]).query("case == '64x256'").itertuples()
    assert row.cause_counts["CPU quota used up"] == (row.discarded if attempts else 0)
    assert (row.step_seconds > 0) == clean


def test_a_kill_is_perhaps_for_want_of_memory() -> None:
    assert how_it_ended(-9) == "the measuring process was killed, perhaps for want of memory"


@pytest.mark.slow
def test_a_group_with_too_little_memory_for_the_process_fails_its_cases_and_not_the_run(tmp_path: Path) -> None:
    group = GROUP / f"respeed-test-{tmp_path.name}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text("150M")
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        done = subprocess.run(
            ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(group), *COMMAND], cwd=tmp_path, text=True,
            capture_output=True, check=False,
        )  # fmt: skip
    finally:
        group.rmdir()
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.glob("results/smoke/records/box/*/*/*/round-01.json")
    assert "the measuring process was killed, perhaps for want of memory" in file.read_text()


def test_a_measurement_in_a_foreign_environment_is_ours_and_says_what_was_loaded_before_all(tmp_path: Path) -> None:
    path = tmp_path / "folder with é"
    path.mkdir()
    preload = "libm.so.6" if sys.platform == "linux" else ""
    environment = os.environ | FOREIGN | {"LD_PRELOAD": preload}
    done = subprocess.run(COMMAND, cwd=path, text=True, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    (file,) = path.glob("results/smoke/records/box/*/*/*/round-01.json")
    record = json.loads(file.read_text())
    assert {case["status"] for case in record["cases"]} == {"measured"}
    environment = record["provenance"]["environment"]
    assert environment["OPENBLAS_NUM_THREADS"] == "1"
    assert not {"OPENBLAS_CORETYPE", "NUMBA_DISABLE_JIT", "OMP_PROC_BIND"} & environment.keys()
    assert environment.get("LD_PRELOAD", "") == preload


@pytest.mark.parametrize(
    ("sent", "to_all"),
    [(signal.SIGKILL, False), (signal.SIGTERM, True), (signal.SIGINT, False), (signal.SIGHUP, True)],
)
def test_a_run_that_is_killed_leaves_no_process_and_nothing_half_written(
    tmp_path: Path, sent: signal.Signals, to_all: bool
) -> None:
    with subprocess.Popen(
        COMMAND, stderr=subprocess.PIPE, text=True, cwd=tmp_path, preexec_fn=hear_all, start_new_session=True
    ) as parent:
        assert parent.stderr is not None
        while "turn 1 of 1" not in parent.stderr.readline():
            assert parent.poll() is None
        deadline = time.monotonic() + 20
        started = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
        # Python drops what a signal raises in the hooks that run right after a fork.
        while not any(map(is_measuring, children := started.read_text().split())):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        (os.killpg if to_all else os.kill)(parent.pid, sent)
        told = parent.stderr.read()
        parent.wait(timeout=20)
    if sent != signal.SIGKILL:
        assert parent.returncode == 130
        assert told.splitlines()[-1] == STOPPED
    deadline = time.monotonic() + 10
    while any(is_running(child) for child in children):
        assert time.monotonic() < deadline, "the measuring process outlived its parent"
        time.sleep(0.05)
    assert not [*tmp_path.rglob("round-*.json"), *tmp_path.rglob("*.part")]


def is_measuring(pid: str) -> bool:
    try:
        return b"respeed.measure.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return False


def is_running(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
