"""The lasso by coordinate descent over a working set, one example at a time.

    min over s of 1/2 ||x - s B||^2 + gamma ||s||_1        B (n, k): a basis a row, x (k,), s (n,)

With G = B B^T and q = B x, the correlations with what is left are c = q - G s, and s is the minimiser if
c_j = gamma sign(s_j) where s_j != 0 and |c_j| <= gamma elsewhere. Few s_j are nonzero: the descent runs over a working
set of coordinates, on their own small piece of G, and the correlations of all others are refreshed only when it has
settled. What violates its condition most then joins the set.
Source: Friedman, Hastie and Tibshirani, Regularization paths for generalized linear models via coordinate descent,
2010, section 2.6; working sets as in Massias, Gramfort and Salmon, Celer, 2018.

The lasso by feature-sign search, one example at a time: the method of the paper's CPU rows.

    min over s of 1/2 ||x - s B||^2 + gamma ||s||_1        G = B B^T (n, n), q = B x (n,)

An active set of coefficients with guessed signs turns the problem into a quadratic one, solved exactly by a Cholesky
factor of the set's piece of G that grows with it. Between the old point and the solution the objective is looked at
wherever a coefficient changes its sign, and the best point is taken; a coefficient that is zero there leaves. When all
of the set's signs hold, the coefficient outside with the largest |q - G s| joins, until none exceeds gamma.
Source: Lee, Battle, Raina and Ng, Efficient sparse coding algorithms, NIPS 2006, algorithm 1.

Bases by block coordinate descent: each in turn to its own minimum, the others fixed.
"""

import numpy as np

from respeed.kernels.compiled import Array, compiled

# A coordinate may join the set if its violation is at least this share of the worst one.
JOIN_SHARE = 0.2
# The set's own problem is settled when no coordinate moves its correlation by more than this share of the penalty ...
SETTLED = 2e-3
# ... and the whole one when none outside violates its condition by more than this.
DESCENT_OPTIMAL = 5e-3
MAX_SWEEPS = 400
MAX_ROUNDS = 100


@compiled
def descend(
    start: int, stop: int, gram: Array, correlations: Array, penalty: float, coefficients: Array, small: Array
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
            if worst <= DESCENT_OPTIMAL * gamma:
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
def _worst(left: Array, inside: Array, gamma: np.float32) -> np.float32:
    """How far the worst coordinate outside of the set is above the penalty."""
    worst = np.float32(0.0)
    for j in range(left.shape[0]):
        over = abs(left[j]) - gamma
        if over > worst and not inside[j]:
            worst = over
    return worst


@compiled
def _leave(size: int, index: Array, value: Array, target: Array, small: Array, inside: Array) -> int:
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
    left: Array,
    q: Array,
    gram: Array,
    small: Array,
    index: Array,
    value: Array,
    target: Array,
    inside: Array,
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
def _settle(size: int, gamma: np.float32, small: Array, value: Array, target: Array) -> None:
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
def _refresh(size: int, gram: Array, index: Array, value: Array, q: Array, left: Array) -> None:
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


# A coefficient outside may exceed the penalty by this share; one in the set is settled if its sign is what was guessed.
SEARCH_OPTIMAL = 1e-3
MAX_STEPS = 4000


@compiled
def search(
    start: int, stop: int, gram: Array, correlations: Array, penalty: float, coefficients: Array, factor: Array
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
            if where < 0 or best <= (1.0 + SEARCH_OPTIMAL) * gamma or size == n:
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
def _append(size: int, gram: Array, index: Array, factor: Array) -> None:
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
def _solve(size: int, gamma: np.float32, factor: Array, q: Array, index: Array, sign: Array, out: Array) -> None:
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
    gram: Array,
    q: Array,
    index: Array,
    sign: Array,
    value: Array,
    goal: Array,
    factor: Array,
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


@compiled
def descend_bases(first: int, last: int, second: Array, gradient: Array, bases: Array, change: Array) -> None:
    """Minimise 1/2 tr(B^T A B) - tr(B^T C) over the rows first ... last - 1 of B (n, k), norms at most 1.

    `gradient` (rows, k) is A B - C for these rows, of the bases as they are; `change` (rows, k) <- what was added.
    """
    k = bases.shape[1]
    for row in range(first, last):
        here = row - first
        g, b, d = gradient[here], bases[row], change[here]
        for before in range(here):
            weight, moved = second[row, first + before], change[before]
            for j in range(k):
                g[j] += weight * moved[j]
        curvature = second[row, row]
        if curvature <= 0.0:
            d[:] = 0.0
            continue
        square = np.float32(0.0)
        for j in range(k):
            d[j] = b[j] - g[j] / curvature
            square += d[j] * d[j]
        scale = np.float32(1.0) / np.sqrt(max(square, np.float32(1.0)))
        for j in range(k):
            new = d[j] * scale
            d[j] = new - b[j]
            b[j] = new
