"""One round, for real: what it writes, and what happens when something is wrong."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from respeed.backends import openblas
from respeed.measure.bench import make_bench
from respeed.measure.case import measure_case
from respeed.measure.correctness import state_errors, what_is_wrong
from respeed.measure.environment import child_environment
from respeed.measure.lock import machine_lock
from respeed.measure.parent import measure_rounds
from respeed.measure.seeds import derive_seed
from respeed.model.errors import UserError
from respeed.model.round import RoundId
from respeed.plan.spec import make_spec
from respeed.provenance.required import check_provenance
from respeed.record.files import read_record
from respeed.record.paths import round_path
from respeed.workloads import load_workload

ROUND = RoundId("box", "raina2009", "rbm", "openblas-1", 1, smoke=True)


def test_a_round_measures_every_case_and_records_how(tmp_path: Path) -> None:
    path = tmp_path / "round-01.json"
    measure_rounds({ROUND: path}, seed=1)
    record = read_record(path)
    assert {case["case"] for case in record["cases"]} == {"36x64", "64x256", "144x1000", "256x688"}
    for case in record["cases"]:
        assert case["status"] == "measured", case["reason"]
        assert 0 <= max(case["errors"].values()) <= case["tolerance"]
        assert case["blocks"]
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
        "if 'respeed.measure.child' in ' '.join(sys.orig_argv):\n"
        "    from respeed.workloads import rbm\n"
        "    original = rbm.inputs\n"
        "    rbm.inputs = lambda case, seed: deadly(case, seed, original)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(workflow), prepend=os.pathsep)
    path = tmp_path / "round-01.json"
    measure_rounds({ROUND: path}, seed=1)
    found = {case["case"]: case for case in read_record(path)["cases"]}
    assert len(found) == 4
    assert found["64x256"]["status"] == "failed"
    assert "killed" in found["64x256"]["reason"]
    assert [case["status"] for case in found.values()].count("measured") == 3


def test_rounds_of_one_profile_share_a_process_and_each_is_written_when_it_is_done(tmp_path: Path) -> None:
    other = replace(ROUND, experiment="matmul")
    paths = {ROUND: tmp_path / "rbm.json", other: tmp_path / "matmul.json"}
    measure_rounds(paths, seed=1)
    first, second = (read_record(path) for path in paths.values())
    assert [first["id"]["experiment"], second["id"]["experiment"]] == ["rbm", "matmul"]
    assert first["provenance"] == second["provenance"]
    assert second["wall_seconds"] < first["wall_seconds"]  # the start of the process is in the first one
    assert first["started"] <= second["started"]
    for record in (first, second):
        assert {case["status"] for case in record["cases"]} == {"measured"}


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


def test_a_profile_this_machine_cannot_run_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("respeed.plan.availability.missing_device", lambda device: f"no {device} device")
    with pytest.raises(UserError, match="cannot be measured on this machine: no cpu device"):
        measure_rounds({ROUND: tmp_path / "round-01.json"}, seed=1)


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_round_that_is_killed_leaves_no_record_and_no_process(tmp_path: Path, sent: signal.Signals) -> None:
    record = tmp_path / round_path(ROUND)
    command = [sys.executable, "-m", "respeed", "measure", str(record)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as parent:
        assert parent.stderr is not None
        while " step" not in parent.stderr.readline():  # a first case is done: the child is in the middle
            assert parent.poll() is None
        children = child_processes(parent.pid)
        assert children
        parent.send_signal(sent)
        parent.wait(timeout=20)
    if sent != signal.SIGKILL:
        assert parent.returncode == 130
    deadline = time.monotonic() + 10
    while any(is_running(child) for child in children):
        assert time.monotonic() < deadline, "the measuring process outlived its parent"
        time.sleep(0.05)
    assert not list(tmp_path.rglob("*.json"))


def child_processes(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_two_measurements_wait_for_each_other(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    code = (
        "from pathlib import Path; from respeed.measure.lock import machine_lock\n"
        f"with machine_lock(Path({str(lock)!r})): print('mine')"
    )
    with machine_lock(lock):
        other = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert other.stderr is not None
        assert "another measurement runs on this machine" in other.stderr.readline()
        assert other.poll() is None
    assert other.communicate(timeout=20)[0] == "mine\n"


def test_a_record_is_json_that_any_tool_reads(tmp_path: Path) -> None:
    path = tmp_path / "round-01.json"
    measure_rounds({ROUND: path}, seed=1)
    assert json.loads(path.read_text())["id"]["machine"] == "box"


def test_a_record_without_a_required_fact_about_its_origin_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "round-01.json"
    measure_rounds({ROUND: path}, seed=1)
    provenance = read_record(path)["provenance"]
    check_provenance(provenance)
    provenance["machine"]["cpu"] = None
    with pytest.raises(UserError, match=r"provenance\.machine\.cpu cannot be read"):
        check_provenance(provenance)


def test_a_round_carries_the_proof_of_its_threads_its_ceilings_and_every_blas(tmp_path: Path) -> None:
    path = tmp_path / "round-01.json"
    measure_rounds({ROUND: path}, seed=1)
    record = read_record(path)
    assert record["provenance"]["threads_proof"]["threads_ran"] in (1, None)
    assert record["ceilings"]["flops_per_second"] > 1e8
    assert record["ceilings"]["bytes_per_second"] > 1e7
    files = [library["file"] for library in record["provenance"]["libraries"]]
    assert any("numpy" in file for file in files)
    assert any("scipy" in file for file in files)
