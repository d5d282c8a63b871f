"""The scripts under bench at tiny sizes: they measure, and what they say is so. mypy checks their calls."""

import subprocess
import sys
from pathlib import Path

import limits
import numpy as np
import paired
import peers
import pytest
import trust
from simulated import PAPERS, RBM, Machine, Noise

from respeed.analysis.rounds import read_rounds
from respeed.backends import make_backend
from respeed.inputs.papers import load_paper
from respeed.measure.order import Job
from respeed.protocol import SMOKE
from respeed.workloads import make_workload

TINY = load_paper("raina2009").at_tiny_sizes()
NOTHING = Noise("none", spreads=(0.0,) * 4, process=0.0)


@pytest.fixture(autouse=True)
def _with_a_lock_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_a_turn_outside_a_plan_is_measured() -> None:
    job = Job(TINY.experiments["rbm"].cases[0], 1, "", RBM.smoke_cases)
    assert [result.status for result in trust._measure("openblas-1", SMOKE, (job,)).results] == ["measured"]


def test_a_load_that_doubles_times_reads_2() -> None:
    rounds = []
    for step_seconds in (1.0, 2.0):
        machine = Machine(NOTHING, (step_seconds,) * 4, np.random.default_rng(1))
        machine.measure(4)
        rounds.append(trust._timed(read_rounds(machine.records, PAPERS)))
    quiet, loaded = rounds
    for key in quiet:
        said = trust._over(loaded[key], quiet[key])
        assert said.startswith("2.0")
        assert "as measured 2.00, probes 1.0" in said
    assert trust._over([], quiet[key]) == "no clean round"


def test_a_script_runs_itself_again_for_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os, sys; print(sys.argv[1], os.environ['OMP_NUM_THREADS'])")
    monkeypatch.setattr(sys, "argv", [str(script)])
    assert paired.in_fresh_process(["sparse"], 1, subprocess.PIPE) == "sparse 1\n"


def test_all_solvers_of_sparse_coding_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "EXAMPLES", 8)
    case = TINY.experiments["sparse-coding"].cases[0]
    programs, objective = peers.solvers(case, 1)
    assert [objective(solve()) for solve in programs.values()] == pytest.approx(
        [objective(programs["compiled descent"]())] * len(programs), rel=1e-3
    )


@pytest.mark.parametrize("backend", limits.BACKENDS)
@pytest.mark.parametrize("what", limits.PRODUCTS)
def test_products_of_a_step_run_alone(what: str, backend: str) -> None:
    made = make_backend(backend, device="cpu", precision="fp32", threads=1, seed=1)
    case = TINY.experiments[limits.EXPERIMENTS[what]].cases[0]
    limits.PRODUCTS[what](made, make_workload(case))()
