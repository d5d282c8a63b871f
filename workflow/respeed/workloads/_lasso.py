"""The lasso in plain NumPy and float64, which coefficients are checked by."""

import numpy as np

# A solution whose duality gap is at most this share of its objective is the optimum, as far as fp32 can tell.
GAP = 1e-8
MAX_STEPS = 5000
# Bases that depend on one another share what they explain between them; the gap tells if this were too much.
RIDGE = 1e-10


def objective(x: np.ndarray, bases: np.ndarray, coefficients: np.ndarray, penalty: float) -> np.ndarray:
    """1/2 ||x - s B||^2 + gamma ||s||_1 of every example, float64."""
    s = coefficients.astype(np.float64)
    rest = x - s @ bases.astype(np.float64)
    out: np.ndarray = 0.5 * (rest**2).sum(axis=1) + penalty * np.abs(s).sum(axis=1)
    return out


def duality_gap(x: np.ndarray, bases: np.ndarray, coefficients: np.ndarray, penalty: float) -> np.ndarray:
    """How far the objective of every example can be above the optimum, at most.

    For every v with |B v| <= gamma, 1/2 ||x||^2 - 1/2 ||x - v||^2 is a lower bound; v is the rest x - s B, scaled.
    """
    bases = bases.astype(np.float64)
    rest = x - coefficients.astype(np.float64) @ bases
    largest = np.abs(rest @ bases.T).max(axis=1, keepdims=True)
    v = rest * np.minimum(1.0, penalty / np.maximum(largest, 1e-300))
    bound = 0.5 * (np.square(x, dtype=np.float64).sum(axis=1) - ((x - v) ** 2).sum(axis=1))
    out: np.ndarray = objective(x, bases, coefficients, penalty) - bound
    return out


def optimum(x: np.ndarray, bases: np.ndarray, start: np.ndarray, penalty: float) -> np.ndarray:
    """The minimisers (m, n) in float64, each with its duality gap closed; NaN for an example where that failed.

    `start` only shortens the way: whatever it is, the gap proves the result.
    """
    wide = bases.astype(np.float64)
    gram = wide @ wide.T
    correlations = x.astype(np.float64) @ wide.T
    found = np.stack([_one(gram, q, s, penalty) for q, s in zip(correlations, start, strict=True)])
    gap = duality_gap(x, wide, found, penalty)
    found[gap > GAP * np.maximum(objective(x, wide, found, penalty), 1e-12)] = np.nan
    return found


def _one(gram: np.ndarray, q: np.ndarray, start: np.ndarray, penalty: float) -> np.ndarray:
    """Solve on the support with its signs held; what changes its sign leaves on the way, the worst violation joins."""
    # Much more than half of the coefficients is no start: their piece of G may be singular.
    s = start.astype(np.float64) if 2 * np.count_nonzero(start) <= len(start) else np.zeros(len(start))
    signs = np.sign(s)
    for _ in range(MAX_STEPS):
        support = np.flatnonzero(signs)
        if len(support):
            part = gram[np.ix_(support, support)]
            part.flat[:: len(support) + 1] += RIDGE
            goal = np.linalg.solve(part, q[support] - penalty * signs[support])
            here = s[support]
            wrong = goal * signs[support] <= 0
            if wrong.any():
                # As far towards the goal as all signs hold: the objective falls all the way.
                with np.errstate(divide="ignore", invalid="ignore"):
                    reach = np.where(wrong, np.abs(here) / (np.abs(here) + np.abs(goal)), np.inf)
                reach = np.nan_to_num(reach, nan=0.0, posinf=np.inf)
                first = int(np.argmin(reach))
                s[support] = here + reach[first] * (goal - here)
                s[support[first]] = signs[support[first]] = 0.0
                continue
            s[support] = goal
        left = q - gram @ s
        left[signs != 0] = 0.0
        worst = int(np.argmax(np.abs(left)))
        if abs(left[worst]) <= penalty * (1 + 1e-10):
            break
        signs[worst] = np.sign(left[worst])
    return s
