"""The lasso by feature-sign search, one example at a time: the method of the paper's CPU rows.

    min over s of 1/2 ||x - s B||^2 + gamma ||s||_1        G = B B^T (n, n), q = B x (n,)

An active set of coefficients with guessed signs turns the problem into a quadratic one, solved exactly by a Cholesky
factor of the set's piece of G that grows with it. Between the old point and the solution the objective is looked at
wherever a coefficient changes its sign, and the best point is taken; a coefficient that is zero there leaves. When all
of the set's signs hold, the coefficient outside with the largest |q - G s| joins, until none exceeds gamma.
Source: Lee, Battle, Raina and Ng, Efficient sparse coding algorithms, NIPS 2006, algorithm 1.
"""

import numpy as np

from respeed.kernels.compiled import compiled

# A coefficient outside may exceed the penalty by this share; one in the set is settled if its sign is what was guessed.
OPTIMAL = 1e-3
MAX_STEPS = 4000


@compiled
def search(
    start: int,
    stop: int,
    gram: np.ndarray,
    correlations: np.ndarray,
    penalty: float,
    coefficients: np.ndarray,
    factor: np.ndarray,
) -> None:
    """coefficients (m, n)[start:stop] <- the minimisers, from zero, given gram (n, n) and correlations q (m, n).

    `factor`, of the shape that `workspace` gives, is written to; no two threads may share it.
    """
    n = gram.shape[0]
    gamma = np.float32(penalty)
    left = np.empty(n, np.float32)
    index = np.empty(n, np.int64)
    sign = np.empty(n, np.float32)
    value = np.empty(n, np.float32)
    goal = np.empty(n, np.float32)
    for example in range(start, stop):
        q = correlations[example]
        s = coefficients[example]
        s[:] = 0.0
        left[:] = q
        size = 0
        for _ in range(MAX_STEPS):
            best, where = np.float32(0.0), -1
            for j in range(n):
                if abs(left[j]) > best and s[j] == 0.0:
                    best, where = abs(left[j]), j
            if where < 0 or best <= (1.0 + OPTIMAL) * gamma or size == n:
                break
            index[size], value[size] = where, 0.0
            sign[size] = 1.0 if left[where] > 0.0 else -1.0
            _append(size, gram, index, factor)
            size += 1
            for _ in range(MAX_STEPS):
                _solve(size, gamma, factor, q, index, sign, goal)
                size, done = _move(size, gamma, gram, q, index, sign, value, goal, factor)
                if done or size == 0:
                    break
            s[:] = 0.0
            left[:] = q
            for i in range(size):
                s[index[i]] = value[i]
                row, v = gram[index[i]], value[i]
                for j in range(n):
                    left[j] -= v * row[j]


@compiled
def _append(size: int, gram: np.ndarray, index: np.ndarray, factor: np.ndarray) -> None:
    """Extend the lower Cholesky factor of G over index[:size] by the coordinate index[size]."""
    row = gram[index[size]]
    for i in range(size):
        total = row[index[i]]
        for j in range(i):
            total -= factor[i, j] * factor[size, j]
        factor[size, i] = total / factor[i, i]
    total = row[index[size]]
    for j in range(size):
        total -= factor[size, j] * factor[size, j]
    # Two bases that are nearly the same leave nothing of the second; it then hardly moves.
    factor[size, size] = np.sqrt(max(total, np.float32(1e-6)))


@compiled
def _solve(
    size: int,
    gamma: np.float32,
    factor: np.ndarray,
    q: np.ndarray,
    index: np.ndarray,
    sign: np.ndarray,
    out: np.ndarray,
) -> None:
    """out <- (G over the set)^-1 (q - gamma sign), forward and back."""
    for i in range(size):
        total = q[index[i]] - gamma * sign[i]
        for j in range(i):
            total -= factor[i, j] * out[j]
        out[i] = total / factor[i, i]
    for i in range(size - 1, -1, -1):
        out[i] /= factor[i, i]
        for j in range(i):
            out[j] -= factor[i, j] * out[i]


@compiled
def _move(
    size: int,
    gamma: np.float32,
    gram: np.ndarray,
    q: np.ndarray,
    index: np.ndarray,
    sign: np.ndarray,
    value: np.ndarray,
    goal: np.ndarray,
    factor: np.ndarray,
) -> tuple[int, bool]:
    """Go from value towards goal as far as is best; the set's new size, and whether all of its signs hold.

    Along value + t (goal - value) the quadratic part is a t^2 / 2 + b t with its minimum, signs held, at t = 1.
    """
    crosses = False
    for i in range(size):
        if goal[i] * sign[i] <= 0.0:
            crosses = True
    if not crosses:
        value[:size] = goal[:size]
        return size, True
    a, b = np.float32(0.0), np.float32(0.0)
    for i in range(size):
        row = gram[index[i]]
        along, here = np.float32(0.0), np.float32(0.0)
        for j in range(size):
            along += row[index[j]] * (goal[j] - value[j])
            here += row[index[j]] * value[j]
        a += (goal[i] - value[i]) * along
        b += (goal[i] - value[i]) * (here - q[index[i]])
    best, best_t, zero = np.float32(np.inf), np.float32(1.0), -1
    for candidate in range(-1, size):
        t = np.float32(1.0)
        if candidate >= 0:
            if goal[candidate] * value[candidate] >= 0.0:
                continue
            t = value[candidate] / (value[candidate] - goal[candidate])
        total = np.float32(0.5) * a * t * t + b * t
        for i in range(size):
            total += gamma * abs(value[i] + t * (goal[i] - value[i]))
        if total < best:
            best, best_t, zero = total, t, candidate
    for i in range(size):
        value[i] += best_t * (goal[i] - value[i])
    if zero >= 0:
        value[zero] = 0.0
    kept = 0
    for i in range(size):
        if value[i] != 0.0:
            index[kept], value[kept] = index[i], value[i]
            sign[kept] = 1.0 if value[i] > 0.0 else -1.0
            kept += 1
    if kept != size:
        for i in range(kept):
            _append(i, gram, index, factor)
    return kept, False
