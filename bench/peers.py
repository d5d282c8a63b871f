"""Ours beside its peers, in paired runs: prints ratios, never absolute times. Nothing else may run meanwhile.

./run python bench/peers.py sparse      sparse-coding coefficients: every solver over our fastest, one and all cores

SPAMS (GPL) is compared with if it is installed: uv pip install --python .venv/bin/python spams-bin
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Mapping

import numpy as np

from respeed.load.papers import load_paper
from respeed.measure.child import bind
from respeed.measure.environment import child_environment
from respeed.model.paper import Case
from respeed.provenance.cpu import usable_cores
from respeed.tables.statistics import estimate_median
from respeed.timing.clock import seconds_now

PAIRS = 9
EXAMPLES = 1000

Solver = Callable[[], np.ndarray]


def solvers(case: Case, threads: int) -> tuple[dict[str, Solver], Callable[[np.ndarray], float]]:
    """Programs that give the coefficients (m, n) of the same examples, and the objective of what they give."""
    from respeed.backends import make_backend
    from respeed.kernels.descent import descend
    from respeed.kernels.feature_sign import search
    from respeed.kernels.workers import Workers
    from respeed.kernels.workspace import workspace
    from respeed.workloads import _lasso, sparse_parallel

    penalty = case.parameters["penalty"]
    full = Case(
        case.name, case.workload, {**case.parameters, "patches": EXAMPLES, "batch": EXAMPLES, "timed": EXAMPLES}
    )
    inputs = sparse_parallel.inputs(full, seed=1)
    x, bases = inputs["x"][0], inputs["bases"]
    workers = Workers(threads)
    gram, correlations = np.empty((len(bases), len(bases)), np.float32), np.empty((EXAMPLES, len(bases)), np.float32)

    def compiled(kernel: Callable[..., None]) -> Solver:
        out = np.zeros((EXAMPLES, len(bases)), np.float32)
        workspaces = [workspace(len(bases)) for _ in range(threads)]

        def work(start: int, stop: int, worker: int) -> None:
            kernel(start, stop, gram, correlations, penalty, out, workspaces[worker])

        def solve() -> np.ndarray:
            np.matmul(bases, bases.T, out=gram)
            np.matmul(x, bases.T, out=correlations)
            workers.spread(work, EXAMPLES)
            return out

        return solve

    program = sparse_parallel.build(
        make_backend("openblas", device="cpu", precision="fp32", threads=threads, seed=1), full, inputs
    )

    def parallel() -> np.ndarray:
        program.code()
        found: np.ndarray = program.coefficients
        return found

    found: dict[str, Solver] = {
        "compiled descent": compiled(descend),
        "feature-sign search": compiled(search),
        "parallel coordinates": parallel,
        "scikit-learn lasso_cd": _scikit_learn(x, bases, penalty, threads),
    }
    found |= _spams(x, bases, penalty, threads)
    return found, lambda coefficients: float(_lasso.objective(x, bases, coefficients, penalty).sum())


def _scikit_learn(x: np.ndarray, bases: np.ndarray, penalty: float, threads: int) -> Solver:
    from sklearn.decomposition import sparse_encode

    wide, wide_bases = x.astype(np.float64), bases.astype(np.float64)

    def solve() -> np.ndarray:
        found: np.ndarray = sparse_encode(
            wide, wide_bases, algorithm="lasso_cd", alpha=penalty, max_iter=10000, n_jobs=threads
        )
        return found

    return solve


def _spams(x: np.ndarray, bases: np.ndarray, penalty: float, threads: int) -> dict[str, Solver]:
    try:
        import spams
    except ImportError:
        print("  SPAMS is not installed and not compared with")
        return {}
    from scipy.sparse import csc_matrix

    columns, dictionary = np.asfortranarray(x.T), np.asfortranarray(bases.T)
    zero = csc_matrix((bases.shape[0], len(x)), dtype=np.float32)

    def lars() -> np.ndarray:
        found = spams.lasso(columns, D=dictionary, lambda1=penalty, mode=2, numThreads=threads)
        return np.asarray(found.T.todense())

    def descent() -> np.ndarray:
        found = spams.cd(columns, dictionary, zero, lambda1=penalty, mode=2, itermax=1000, tol=1e-3, numThreads=threads)
        return np.asarray(found.T.todense())

    return {"SPAMS LARS": lars, "SPAMS CD": descent}


def compare_sparse(threads: int) -> None:
    """Every solver's time over ours, the median of paired ratios with its 95 % interval, at each sparsity."""
    for case in {case.name: case for case in load_paper("raina2009").experiments["sparse-coding"].cases}.values():
        programs, objective = solvers(case, threads)
        ours, *others = programs
        print(f"  {case.name}, {threads} threads, {EXAMPLES} patches")
        best = objective(programs[ours]())
        for name in others:
            excess = objective(programs[name]()) / best - 1
            ratio = paired_ratio(programs[name], programs[ours])
            print(f"    {name:<22} {ratio} times as long as ours; its objective is {excess:+.1e} of ours")


def paired_ratio(other: Callable[[], object], ours: Callable[[], object]) -> str:
    """other / ours, run in turns."""
    ratios = []
    for turn in range(PAIRS):
        times: Mapping[str, float] = {
            name: _seconds(run)
            for name, run in ((("other", other), ("ours", ours)) if turn % 2 else (("ours", ours), ("other", other)))
        }
        ratios.append(times["other"] / times["ours"])
    estimate = estimate_median(ratios)
    return f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


def _seconds(run: Callable[[], object]) -> float:
    start = seconds_now()
    run()
    return seconds_now() - start


COMPARISONS: dict[str, Callable[[int], None]] = {"sparse": compare_sparse}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("comparison", choices=COMPARISONS)
    parser.add_argument("--threads", type=int, help="compare in this process, which has the environment for it")
    options = parser.parse_args()
    if options.threads:
        bind(usable_cores()[: options.threads])
        COMPARISONS[options.comparison](options.threads)
        return
    for threads in sorted({1, len(usable_cores())}):
        command = [sys.executable, __file__, options.comparison, "--threads", str(threads)]
        print(f"{options.comparison} on {threads} of {os.cpu_count()} cores", flush=True)
        subprocess.run(command, env=child_environment(threads), check=True)


if __name__ == "__main__":
    main()
