"""One round, for real: what it writes, and what happens when something is wrong."""

import errno
import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from respeed.backends import openblas
from respeed.errors import UserError
from respeed.estimators.rounds import collect_rounds
from respeed.measure.bench import make_bench
from respeed.measure.case import derive_seed, is_disturbed, measure_case
from respeed.measure.correctness import state_errors, what_is_wrong
from respeed.measure.environment import child_environment
from respeed.measure.lock import machine_lock
from respeed.measure.turn import _shuffled, check_provenance, measure_spec, measure_turn
from respeed.paths import RoundId
from respeed.records.store import read_record, write_json
from respeed.schedule.spec import make_spec
from respeed.workloads import load_workload
from tests.signals import CODES, hear_all

ROUND = RoundId("box", "raina2009", "rbm", "openblas-1", 1, smoke=True)


def measured(folder: Path) -> dict[str, Any]:
    """The round, measured, written and read."""
    path = folder / "round-01.json"
    write_json(path, measure_spec(make_spec(ROUND, 1)))
    return read_record(path)


def test_a_round_measures_every_case_and_records_how(tmp_path: Path) -> None:
    record, spec = measured(tmp_path), make_spec(ROUND, 1)
    assert {case["case"] for case in record["cases"]} == {"36x64", "64x256", "144x1000", "256x688"}
    for case in record["cases"]:
        assert case["status"] == "measured", case["reason"]
        assert 0 <= max(case["errors"].values()) <= case["tolerance"]
        assert case["blocks"]
        # Only a step that fills a block is timed from its first on.
        assert case["warmup"]["steps"] > 0 or case["warmup"]["step_seconds"] > spec.timing.block_seconds
    environment = record["provenance"]["environment"]
    assert environment["OPENBLAS_NUM_THREADS"] == environment["OMP_NUM_THREADS"] == "1"
    assert environment["MALLOC_TRIM_THRESHOLD_"] == "4294967295"
    assert record["provenance"]["backend"]["threads_set"] == 1
    assert len(record["provenance"]["affinity"]) == 1
    assert record["provenance"]["backend"]["library"] == "OpenBLAS"


def test_what_the_shell_says_about_threads_does_not_reach_the_measurement() -> None:
    environment = child_environment(
        3, {"OMP_NUM_THREADS": "64", "MKL_NUM_THREADS": "9", "KMP_AFFINITY": "x", "PATH": "/bin"}
    )
    assert environment["OMP_NUM_THREADS"] == environment["MKL_NUM_THREADS"] == "3"
    assert environment["VECLIB_MAXIMUM_THREADS"] == "3"  # another word than the others have
    assert "KMP_AFFINITY" not in environment
    assert environment["PATH"] == "/bin"


def test_a_profile_that_needs_no_torch_never_imports_it() -> None:
    spec = make_spec(ROUND, 1)
    code = (
        "import sys; from respeed.backends import make_backend; from respeed.workloads import load_workload;"
        "import respeed.measure.case, respeed.timing.blocks;"
        f"make_backend({spec.profile.backend!r}, device='cpu', precision='fp32', threads=1, seed=1);"
        "print('torch' in sys.modules, 'pandas' in sys.modules, 'snakemake' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "False"]


def test_a_corrupted_kernel_shows_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    correct = openblas.Backend.gemm

    def corrupted(self: openblas.Backend, a: np.ndarray, b: np.ndarray, out: np.ndarray, **options: object) -> None:
        correct(self, a, b, out, **options)  # type: ignore[arg-type]
        out[-1, -1] += 0.01

    spec = make_spec(ROUND, 1)
    bench, _ = make_bench(openblas.Backend(device="cpu", precision="fp32", threads=1, seed=1))
    assert measure_case(spec, 0, bench)["status"] == "measured"
    monkeypatch.setattr(openblas.Backend, "gemm", corrupted)
    facts = measure_case(spec, 0, bench)
    assert facts["status"] == "wrong"
    assert "wrong result" in facts["reason"]
    assert facts["blocks"] == []


def test_a_result_that_is_not_a_number_is_wrong() -> None:
    errors = state_errors({}, {"a": np.array([np.nan, 1.0])}, {"a": np.array([1.0, 1.0])})
    assert what_is_wrong(errors, 1e-4)


def test_an_error_shows_against_the_change_and_not_against_the_weights() -> None:
    inputs = {"weights": np.array([1000.0], np.float32)}
    errors = state_errors(inputs, {"weights": np.array([1000.2])}, {"weights": np.array([0.1])})
    assert errors["weights"] == pytest.approx(1.0)


def test_a_case_too_big_for_memory_is_not_run_and_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("respeed.measure.case.CHECK_FACTOR", 1e9)
    bench, _ = make_bench(openblas.Backend(device="cpu", precision="fp32", threads=1, seed=1))
    facts = measure_case(make_spec(ROUND, 1), 0, bench)
    assert facts["status"] == "not-run"
    assert facts["reason"].startswith("needs")


def test_a_case_too_big_for_the_gpu_is_not_run_and_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    made = openblas.Backend(device="cpu", precision="fp32", threads=1, seed=1)
    bench, _ = make_bench(made)
    spec = make_spec(ROUND, 1)
    takes = load_workload("rbm").memory_bytes(spec.cases[0])
    monkeypatch.setattr(made, "memory_factor", 1.5)
    for free, status in ((1.4 * takes, "not-run"), (1.6 * takes, "measured")):
        monkeypatch.setattr(made, "bytes_free", lambda free=free: free)
        facts = measure_case(spec, 0, bench)
        assert facts["status"] == status
        assert status == "measured" or facts["reason"] == "needs 0.0 GB of GPU memory, has 0.0"


def test_a_device_that_runs_out_of_memory_fails_its_case_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    made = openblas.Backend(device="cpu", precision="fp32", threads=1, seed=1)
    bench, _ = make_bench(made)
    spec, array = make_spec(ROUND, 1), made.array

    def full(values: np.ndarray) -> np.ndarray:
        if math.prod(values.shape) > 50_000:
            raise MemoryError("out of memory. Tried to allocate 2.00 GiB.")
        return array(values)

    monkeypatch.setattr(made, "array", full)
    found = {spec.cases[index].name: measure_case(spec, index, bench) for index in range(len(spec.cases))}
    assert found["36x64"]["status"] == "measured"
    assert found["256x688"]["status"] == "failed"
    assert "out of memory" in found["256x688"]["reason"]
    assert found["256x688"]["blocks"] == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO])
def test_what_the_disk_refuses_is_no_fact_of_a_case(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("respeed.measure.case._measure", refused)
    bench, _ = make_bench(openblas.Backend(device="cpu", precision="fp32", threads=1, seed=1))
    with pytest.raises(OSError, match=os.strerror(number)):
        measure_case(make_spec(ROUND, 1), 0, bench)


def test_a_case_whose_process_dies_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A workload that kills its process at one size: the other cases are measured all the same."""
    workflow = tmp_path / "deadly"
    workflow.mkdir()
    (workflow / "sitecustomize.py").write_text(
        "import os, signal\n"
        "def deadly(case, seed, original):\n"
        "    if case.name == '64x256': os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return original(case, seed)\n"
        "import sys\n"
        "if 'respeed.measure.worker' in ' '.join(sys.orig_argv):\n"
        "    from respeed.workloads import rbm\n"
        "    original = rbm.inputs\n"
        "    rbm.inputs = lambda case, seed: deadly(case, seed, original)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(workflow), prepend=os.pathsep)
    found = {case["case"]: case for case in measured(tmp_path)["cases"]}
    assert len(found) == 4
    assert found["64x256"]["status"] == "failed"
    assert "killed" in found["64x256"]["reason"]
    assert [case["status"] for case in found.values()].count("measured") == 3


def test_rounds_of_one_profile_share_a_process_and_each_is_told_when_it_is_done() -> None:
    specs = [make_spec(replace(ROUND, experiment=name), 1) for name in ("rbm", "matmul")]
    with machine_lock() as lock:
        told = list(measure_turn(specs, lock))
    (_, first), (_, second) = told
    assert [one.experiment for one, _ in told] == ["rbm", "matmul"]
    assert first["provenance"] == second["provenance"]
    assert first["start_seconds"] == second["start_seconds"] > 0
    assert first["started"] <= second["started"]
    for record in (first, second):
        assert {case["status"] for case in record["cases"]} == {"measured"}
        cases = sum(case["wall_seconds"] for case in record["cases"])
        start = first["start_seconds"] if record is first else 0.0
        assert cases <= record["wall_seconds"]
        assert record["wall_seconds"] == pytest.approx(cases + start, abs=1.0)


def disturb(monkeypatch: pytest.MonkeyPatch, folder: Path, attempts: int) -> None:
    """In the measuring process, the first so many blocks of the case 64x256 have waited for a core all the time."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        "if 'respeed.measure.worker' in ' '.join(sys.orig_argv):\n"
        "    from dataclasses import replace\n"
        "    from respeed.measure import case\n"
        "    from respeed.protocol import SMOKE\n"
        f"    left, original = [{attempts}], case._measure\n"
        "    def measure(spec, index, workload, bench, facts):\n"
        "        original(spec, index, workload, bench, facts)\n"
        "        if facts['case'] == '64x256' and left[0] > 0:\n"
        "            left[0] -= 1\n"
        "            facts['blocks'] = [block | {'quota_throttles': 1} for block in facts['blocks']]\n"
        "    case._measure = measure\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)


@pytest.mark.parametrize(("attempts", "clean"), [(1, True), (2, True), (5, False)])
def test_a_disturbed_case_is_measured_again_at_the_end_of_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempts: int, clean: bool
) -> None:
    disturb(monkeypatch, tmp_path / "disturbed", attempts)
    specs = [make_spec(replace(ROUND, experiment=name), 1) for name in ("rbm", "matmul")]
    begun: list[tuple[str, str, bool]] = []
    with machine_lock() as lock:
        told = list(measure_turn(specs, lock, watch=lambda *what: begun.append(what)))
    again = [what for what in begun if what[2]]
    assert again == [("rbm", "64x256", True)] * min(attempts, 2)
    assert begun[-len(again) :] == again  # after everything else of the turn
    assert [one.experiment for one, _ in told] == ["rbm", "matmul", *["rbm"] * len(again)]
    (case,) = [case for case in dict(told)[specs[0].id]["cases"] if case["case"] == "64x256"]
    assert case["attempts"] == 1 + len(again)
    # What was disturbed stays in the record, and the cell counts the round once.
    (cell,) = [cell for key, cell in collect_rounds([dict(told)[specs[0].id]]).items() if key.case == "64x256"]
    assert cell.attempts == 1
    assert cell.causes["CPU quota used up"] == cell.discarded > 0
    assert bool(cell.times) == clean


def test_what_is_quiet_is_known_from_earlier_turns_of_the_session() -> None:
    """A turn that is slow from its first probe to its last finds nothing strange in itself."""
    spec = make_spec(ROUND, 1)
    strict = replace(spec, timing=replace(spec.timing, max_probe_ratio=1.25))
    bench, _ = make_bench(openblas.Backend(device="cpu", precision="fp32", threads=1, seed=1), [1e-9] * 1000)
    facts = measure_case(strict, 0, bench)
    assert facts["status"] == "measured"
    assert is_disturbed(strict, facts, bench)
    bench.probes[:1000] = []
    assert not is_disturbed(replace(strict, timing=replace(strict.timing, max_probe_ratio=1e3)), facts, bench)


def test_the_first_step_of_a_slow_program_is_timed_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = make_spec(ROUND, 1)
    backend = openblas.Backend(device="cpu", precision="fp32", threads=1, seed=1)
    bench, _ = make_bench(backend)
    monkeypatch.setattr("respeed.measure.case.FIRST_COUNTS", 0.0)  # every step counts as slow
    facts = measure_case(spec, 0, bench)
    assert facts["status"] == "measured"
    assert facts["warmup"]["steps"] == 0
    assert facts["blocks"][0]["sample_steps"] == len(facts["blocks"][0]["sample_seconds"]) == 1
    monkeypatch.setattr("respeed.measure.case.TOLERANCE", {"fp32": 1e-12})
    facts = measure_case(spec, 0, bench)
    assert facts["status"] == "wrong"
    assert facts["blocks"] == []


def test_all_profiles_of_a_round_compute_on_the_same_data() -> None:
    one, other = make_spec(ROUND, 1), make_spec(RoundId("box", "raina2009", "rbm", "torch-1", 1, smoke=True), 1)
    assert derive_seed(one, "36x64") == derive_seed(other, "36x64")
    assert derive_seed(one, "36x64") != derive_seed(one, "64x256")


def test_every_round_computes_on_other_data_with_its_cases_in_another_order() -> None:
    specs = [make_spec(replace(ROUND, index=index), 1) for index in range(1, 13)]
    assert len({derive_seed(spec, "36x64") for spec in specs}) == 12
    orders = {tuple(case.name for case in _shuffled(spec).cases) for spec in specs}
    assert len(orders) > 4
    assert {frozenset(order) for order in orders} == {frozenset(case.name for case in specs[0].cases)}


@pytest.mark.parametrize(
    ("sent", "to_all"),
    [(signal.SIGKILL, False), (signal.SIGTERM, True), (signal.SIGINT, False), (signal.SIGHUP, True)],
)
def test_a_run_that_is_killed_leaves_no_process_and_nothing_half_written(
    tmp_path: Path, sent: signal.Signals, to_all: bool
) -> None:
    settings = ["--config", "preset=smoke", "experiments=rbm", "profiles=openblas-1", "machine=box"]
    command = [sys.executable, "-m", "respeed", "measure", *settings]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, preexec_fn=hear_all, start_new_session=True
    ) as parent:
        assert parent.stderr is not None
        while "turn 1 of 1" not in parent.stderr.readline():
            assert parent.poll() is None
        deadline = time.monotonic() + 20
        while not (children := child_processes(parent.pid)):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        (os.killpg if to_all else os.kill)(parent.pid, sent)
        told = parent.stderr.read()
        parent.wait(timeout=20)
    if sent != signal.SIGKILL:
        assert parent.returncode == CODES[sent]
        assert told.splitlines()[-1] == "respeed: stopped; what was measured is kept, and the same command goes on"
    deadline = time.monotonic() + 10
    while any(is_running(child) for child in children):
        assert time.monotonic() < deadline, "the measuring process outlived its parent"
        time.sleep(0.05)
    assert not list(tmp_path.rglob("*.json"))
    assert not list(tmp_path.rglob("*.part"))


def child_processes(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_record_is_json_that_any_tool_reads(tmp_path: Path) -> None:
    measured(tmp_path)
    assert json.loads((tmp_path / "round-01.json").read_text())["id"]["machine"] == "box"


def test_a_record_without_a_required_fact_about_its_origin_is_refused(tmp_path: Path) -> None:
    provenance = measured(tmp_path)["provenance"]
    check_provenance(provenance)
    provenance["machine"]["cpu"] = None
    with pytest.raises(UserError, match=r"provenance\.machine\.cpu cannot be read"):
        check_provenance(provenance)


def test_a_round_carries_the_proof_of_its_threads_its_ceilings_and_every_blas(tmp_path: Path) -> None:
    record = measured(tmp_path)
    assert record["provenance"]["threads_proof"]["threads_ran"] in (1, None)
    assert record["ceilings"]["flops_per_second"] > 1e8
    assert record["ceilings"]["bytes_per_second"] > 1e7
    files = [library["file"] for library in record["provenance"]["libraries"]]
    assert any("numpy" in file for file in files)
    assert any("scipy" in file for file in files)


def test_a_case_that_makes_no_sense_on_a_row_is_not_run_and_says_why() -> None:
    spec = make_spec(RoundId("box", "lectures", "copies", "openblas-1", 1, smoke=True), 1)
    bench, _ = make_bench(openblas.Backend(device="cpu", precision="fp32", threads=1, seed=1))
    facts = measure_case(spec, 0, bench)
    assert (facts["status"], facts["reason"]) == ("not-run", "nothing to copy: its arrays lie in the host's memory")
    assert facts["blocks"] == []
