"""Sparse-coding coefficients: every solver over our fastest. Run by bench/peers.py."""

from collections.abc import Callable

import numpy as np
from paired import paired_ratio

from respeed.inputs.papers import load_paper
from respeed.model.paper import Case

PAIRS = 9
EXAMPLES = 300

Solver = Callable[[], np.ndarray]


def solvers(case: Case, threads: int) -> tuple[dict[str, Solver], Callable[[np.ndarray], float]]:
    """Programs that give the coefficients (m, n) of the same examples, and the objective of what they give."""
    from respeed.backends import make_backend
    from respeed.kernels.compiled import Workers, workspace
    from respeed.kernels.sparse import descend, search
    from respeed.workloads.sparse_coding import SparseParallel, objective

    penalty = case.parameters["penalty"]
    full = Case(
        case.name, case.workload, {**case.parameters, "patches": EXAMPLES, "batch": EXAMPLES, "timed": EXAMPLES}
    )
    inputs = SparseParallel().inputs(full, seed=1)
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

    program = SparseParallel().build(
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
    return found, lambda coefficients: float(objective(x, bases, coefficients, penalty).sum())


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
            ratio = paired_ratio(programs[name], programs[ours], PAIRS)
            print(f"    {name:<22} {ratio} times as long as ours; its objective is {excess:+.1e} of ours")
