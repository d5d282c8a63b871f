"""Find the penalties of the sparse-coding cases: the ones at which their share of coefficients is nonzero.

./run python bench/penalty.py      prints, for each case of each paper, the penalty to write into its paper.yaml
"""

import numpy as np
from numba import get_num_threads

from respeed.data import natural_patches
from respeed.inputs.papers import load_papers
from respeed.kernels.sparse import coordinate_descent, make_workspaces
from respeed.model import Case
from respeed.workloads.sparse_coding import DATA_SEED

HALVINGS = 30


def share(gram: np.ndarray, correlations: np.ndarray, penalty: float) -> float:
    """Share of nonzero coefficients of all examples at this penalty."""
    coefficients = np.empty_like(correlations)
    coordinate_descent(coefficients, gram, correlations, penalty, make_workspaces(get_num_threads(), len(gram)))
    return np.count_nonzero(coefficients) / coefficients.size


def find(case: Case) -> tuple[float, float, float]:
    """The penalty to four digits, and the share it gives for the first batch and for all patches."""
    given = {name: int(value) for name, value in case.parameters.items()}
    bases, x = np.split(natural_patches(given["bases"] + given["patches"], given["side"], DATA_SEED), [given["bases"]])
    gram, correlations = bases @ bases.T, x @ bases.T
    first = correlations[: given["batch"]]
    low, high = 0.0, float(np.abs(first).max())
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if share(gram, first, middle) > case.parameters["nonzero"]:
            low = middle
        else:
            high = middle
        if high - low < 1e-4 * high:
            break
    penalty = float(f"{high:.4g}")
    return penalty, share(gram, first, penalty), share(gram, correlations, penalty)


def main() -> None:
    for paper in load_papers().values():
        for experiment in paper.experiments.values():
            for name in dict.fromkeys(case.name for case in (*experiment.cases, *experiment.smoke_cases)):
                case = next(c for c in (*experiment.cases, *experiment.smoke_cases) if c.name == name)
                if "penalty" in case.parameters:
                    penalty, first, every = find(case)
                    print(f"{paper.name} {name}: penalty {penalty}: {first:.3%} of the first batch, {every:.3%} of all")


if __name__ == "__main__":
    main()
