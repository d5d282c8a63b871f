"""The lasso by coordinate descent over a working set, one example at a time.

    min over s of 1/2 ||x - s B||^2 + gamma ||s||_1        B (n, k): a basis a row, x (k,), s (n,)

With G = B B^T and q = B x, the correlations with what is left are c = q - G s, and s is the minimiser if
c_j = gamma sign(s_j) where s_j != 0 and |c_j| <= gamma elsewhere. Few s_j are nonzero: the descent runs over a working
set of coordinates, on their own small piece of G, and the correlations of all others are refreshed only when it has
settled. What violates its condition most then joins the set.
Source: Friedman, Hastie and Tibshirani, Regularization paths for generalized linear models via coordinate descent,
2010, section 2.6; working sets as in Massias, Gramfort and Salmon, Celer, 2018.
"""

import numpy as np

from respeed.kernels.compiled import compiled

# A coordinate may join the set if its violation is at least this share of the worst one.
JOIN_SHARE = 0.2
# The set's own problem is settled when no coordinate moves its correlation by more than this share of the penalty ...
SETTLED = 2e-3
# ... and the whole one when none outside violates its condition by more than this.
OPTIMAL = 5e-3
MAX_SWEEPS = 400
MAX_ROUNDS = 100


@compiled
def descend(
    start: int,
    stop: int,
    gram: np.ndarray,
    correlations: np.ndarray,
    penalty: float,
    coefficients: np.ndarray,
    small: np.ndarray,
) -> None:
    """coefficients (m, n)[start:stop] <- the minimisers, from zero, given gram (n, n) and correlations q (m, n).

    `small`, of the shape that `workspace` gives, is written to; no two threads may share it.
    """
    n = gram.shape[0]
    gamma = np.float32(penalty)
    left = np.empty(n, np.float32)
    index = np.empty(n, np.int64)
    value = np.empty(n, np.float32)
    target = np.empty(n, np.float32)
    inside = np.empty(n, np.bool_)
    for example in range(start, stop):
        q = correlations[example]
        s = coefficients[example]
        s[:] = 0.0
        left[:] = q
        inside[:] = False
        size = 0
        for _ in range(MAX_ROUNDS):
            worst = _worst(left, inside, gamma)
            if worst <= OPTIMAL * gamma:
                break
            size = _leave(size, index, value, target, small, inside)
            size = _join(
                size, gamma + np.float32(JOIN_SHARE) * worst, left, q, gram, small, index, value, target, inside
            )
            _settle(size, gamma, small, value, target)
            _refresh(size, gram, index, value, q, left)
        for i in range(size):
            s[index[i]] = value[i]


@compiled
def _worst(left: np.ndarray, inside: np.ndarray, gamma: np.float32) -> np.float32:
    """How far the worst coordinate outside of the set is above the penalty."""
    worst = np.float32(0.0)
    for j in range(left.shape[0]):
        over = abs(left[j]) - gamma
        if over > worst and not inside[j]:
            worst = over
    return worst


@compiled
def _leave(
    size: int, index: np.ndarray, value: np.ndarray, target: np.ndarray, small: np.ndarray, inside: np.ndarray
) -> int:
    """Take the coordinates that came out as zero from the set; their places go to the last ones."""
    i = 0
    while i < size:
        if value[i] != 0.0:
            i += 1
            continue
        inside[index[i]] = False
        size -= 1
        if i < size:
            index[i], value[i], target[i] = index[size], value[size], target[size]
            small[i, :size] = small[size, :size]
            small[:size, i] = small[:size, size]
            small[i, i] = small[size, size]
    return size


@compiled
def _join(
    size: int,
    threshold: np.float32,
    left: np.ndarray,
    q: np.ndarray,
    gram: np.ndarray,
    small: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    target: np.ndarray,
    inside: np.ndarray,
) -> int:
    """Add the coordinates outside whose correlation reaches the threshold, with their rows and columns of G."""
    for j in range(left.shape[0]):
        if abs(left[j]) >= threshold and not inside[j]:
            inside[j] = True
            index[size], value[size], target[size] = j, 0.0, q[j]
            row = gram[j]
            for i in range(size + 1):
                small[size, i] = small[i, size] = row[index[i]]
            size += 1
    return size


@compiled
def _settle(size: int, gamma: np.float32, small: np.ndarray, value: np.ndarray, target: np.ndarray) -> None:
    """Coordinate descent on the set alone, until no coordinate moves; correlations are kept up with each move."""
    left = np.empty(size, np.float32)
    for i in range(size):
        total = target[i]
        for j in range(size):
            total -= small[i, j] * value[j]
        left[i] = total
    limit = np.float32(SETTLED) * gamma
    for _ in range(MAX_SWEEPS):
        moved = np.float32(0.0)
        for i in range(size):
            curvature = small[i, i]
            pull = left[i] + curvature * value[i]
            new = np.float32(0.0)
            if pull > gamma:
                new = (pull - gamma) / curvature
            elif pull < -gamma:
                new = (pull + gamma) / curvature
            step = new - value[i]
            if step != 0.0:
                value[i] = new
                for j in range(size):
                    left[j] -= step * small[i, j]
                moved = max(moved, abs(step) * curvature)
        if moved <= limit:
            return


@compiled
def _refresh(
    size: int, gram: np.ndarray, index: np.ndarray, value: np.ndarray, q: np.ndarray, left: np.ndarray
) -> None:
    """left <- q - sum over the set of value G[index], four rows of G at a time."""
    n = left.shape[0]
    left[:] = q
    i = 0
    while i + 4 <= size:
        a, b, c, d = gram[index[i]], gram[index[i + 1]], gram[index[i + 2]], gram[index[i + 3]]
        u, v, w, z = value[i], value[i + 1], value[i + 2], value[i + 3]
        for j in range(n):
            left[j] -= u * a[j] + v * b[j] + w * c[j] + z * d[j]
        i += 4
    while i < size:
        a, u = gram[index[i]], value[i]
        for j in range(n):
            left[j] -= u * a[j]
        i += 1
