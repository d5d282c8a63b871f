"""Compiled passes of sparse coding: over all examples at once, over one example after another, and over bases.

`feature_sign_search` and `coordinate_descent` solve the lasso, for a Gram matrix G = B B^T (n, n) and
correlations q = B x (n,)::

    min over s (n,) of 1/2 ||x - s B||^2 + gamma ||s||_1

With the remaining correlations c = q - G s, s is the minimum if c_j = gamma sign(s_j) where s_j is not 0, and |c_j| <=
gamma elsewhere. Both solvers begin at s = 0, work on a small set of coordinates, and look at the other coordinates only
when the set's own problem is solved. They compute in fp32.
"""

from collections import namedtuple
from functools import partial

import numpy as np
from numba import prange

from respeed.kernels import Array, compiled, compiled_parallel, float32

ZERO = float32(0)
ONE = float32(1)
HALF = float32(0.5)

# A solver passes over an example's elements many times.
compiled_solver = partial(compiled_parallel, worth=1000)


@compiled_parallel
def coordinate_step(out: Array, remaining: Array, s: Array, diagonal: Array, penalty: float, active: Array) -> None:
    """Compute out <- soft(remaining + s diagonal, penalty) / diagonal - s, or 0 in rows that are not active.

    soft(z, p) = sign(z) max(|z| - p, 0). `out`, `remaining` and `s` are (m, n), `diagonal` (n,), `active` (m,), 0 or 1.
    """
    gamma = out.dtype.type(penalty)
    zero = out.dtype.type(0)
    for row in prange(len(out)):
        d = out[row]
        c = remaining[row]
        x = s[row]
        if active[row] == 0:
            d[:] = zero
            continue
        for j in range(len(d)):
            pull = c[j] + x[j] * diagonal[j]
            soft = max(pull - gamma, zero) + min(pull + gamma, zero)
            d[j] = soft / diagonal[j] - x[j]


@compiled_parallel
def line_search(
    s: Array, remaining: Array, objective: Array, active: Array, direction: Array, moved: Array,
    penalty: float, lengths: Array, of_objective: float, of_norm: float,
) -> None:  # fmt: skip
    """Move each active row by the first length t that lowers its objective enough; without one, make it inactive.

    change(t) = t^2/2 <moved, direction> - t <remaining, direction> + penalty (||s + t direction||_1 - ||s||_1)
    enough: change < -of_objective objective - of_norm penalty ||s||_1
    s += t direction    remaining -= t moved    objective += change

    `s`, `remaining`, `direction` and `moved` are (m, n), `objective` and `active`, 0 or 1, are (m,).
    """
    gamma = s.dtype.type(penalty)
    half = s.dtype.type(0.5)
    zero = s.dtype.type(0)
    share = s.dtype.type(of_objective)
    share_of_norm = gamma * s.dtype.type(of_norm)
    for row in prange(len(s)):
        if active[row] == 0:
            continue
        d = direction[row]
        m = moved[row]
        c = remaining[row]
        x = s[row]
        slope = zero
        curve = zero
        norm = zero
        for j in range(len(d)):
            slope += c[j] * d[j]
            curve += m[j] * d[j]
            norm += abs(x[j])
        enough = -share * objective[row] - share_of_norm * norm
        active[row] = 0
        for t in lengths:
            after = zero
            for j in range(len(d)):
                after += abs(x[j] + t * d[j])
            change = half * t * t * curve - t * slope + gamma * (after - norm)
            if change < enough:
                for j in range(len(d)):
                    x[j] += t * d[j]
                    c[j] -= t * m[j]
                objective[row] += change
                active[row] = 1
                break


@compiled_parallel
def gradient_step(out: Array, bases: Array, product: Array, target: Array, rate: float) -> None:
    """Compute out <- bases - rate (product - target), with rows of norm above 1 scaled to norm 1; all (n, k)."""
    r = out.dtype.type(rate)
    unit = out.dtype.type(1)
    for row in prange(len(out)):
        o = out[row]
        b = bases[row]
        p = product[row]
        c = target[row]
        square = out.dtype.type(0)
        for j in range(len(o)):
            o[j] = b[j] - r * (p[j] - c[j])
            square += o[j] * o[j]
        if square > unit:
            scale = unit / np.sqrt(square)
            for j in range(len(o)):  # Numba takes `o *= scale` for a reduction over rows
                o[j] *= scale


# A row of a workspace is so many elements longer than needed: rows of length 2^k would all share one cache set.
PADDING = 16


def make_workspaces(threads: int, bases: int) -> Array:
    """Return zeros of shape (threads, bases, bases + PADDING): a workspace for each thread."""
    return np.zeros((threads, bases, bases + PADDING), float32)


@compiled_solver
def feature_sign_search(out: Array, gram: Array, correlations: Array, penalty: float, workspaces: Array) -> None:
    """Compute each row of out (m, n), the minimiser for a row of correlations q (m, n), by feature-sign search.

    With guessed signs for an active set of coordinates, the problem is quadratic: it is solved exactly by a Cholesky
    factor of the set's part of G. Between the old point and this solution, the objective is computed wherever a
    coefficient changes its sign; a coefficient that is 0 at the best of these points leaves the set. When all signs
    hold, the coordinate with the largest |c_j| joins the set if |c_j| is above gamma.

    References
    ----------
    .. [1] H. Lee, A. Battle, R. Raina and A. Y. Ng, "Efficient sparse coding algorithms", 2006, algorithm 1.
    """
    gamma = float32(penalty)
    threads = len(workspaces)
    for thread in prange(threads):
        # Neighbours may cost about the same: with n threads, each takes every n-th example.
        for example in range(thread, len(out), threads):
            _search(out[example], gram, correlations[example], gamma, workspaces[thread])


# Outside of the set, the correlation of a coordinate may exceed the penalty by this share.
SEARCH_OPTIMAL = 1e-3
MAX_STEPS = 4000


# A search's set: arrays in the order in which coordinates joined, and the lower Cholesky factor of the set's part of G.
_Active = namedtuple("_Active", "index sign value goal factor")


@compiled
def _search(s: Array, gram: Array, q: Array, gamma: float32, factor: Array) -> None:
    n = len(gram)
    index = np.empty(n, np.int64)
    sign = np.empty(n, float32)
    value = np.empty(n, float32)
    goal = np.empty(n, float32)
    active = _Active(index, sign, value, goal, factor)
    remaining = q.copy()
    size = 0
    s[:] = 0.0
    for _ in range(MAX_STEPS):
        best = ZERO
        where = -1
        for j in range(n):
            correlation = abs(remaining[j])
            if correlation > best and s[j] == 0.0:
                best = correlation
                where = j
        if where < 0 or best <= (1.0 + SEARCH_OPTIMAL) * gamma or size == n:
            return
        index[size] = where
        value[size] = 0.0
        sign[size] = np.sign(remaining[where])
        _extend_factor(size, gram, index, factor)
        size += 1
        signs_hold = False
        for _ in range(MAX_STEPS):
            if signs_hold or size == 0:
                break
            _solve(size, gamma, q, active)
            size, signs_hold = _move(size, gamma, gram, q, active)
        _refresh(s, remaining, size, gram, index, value, q)


@compiled
def _extend_factor(size: int, gram: Array, index: Array, factor: Array) -> None:
    """Add the coordinate index[size] to the lower Cholesky factor of the part of G at index[:size]."""
    row = gram[index[size]]
    for i in range(size):
        total = row[index[i]]
        for j in range(i):
            total -= factor[i, j] * factor[size, j]
        factor[size, i] = total / factor[i, i]
    total = row[index[size]]
    for j in range(size):
        total -= factor[size, j] * factor[size, j]
    # If two bases are nearly the same, almost nothing is left for the second; it then hardly moves.
    factor[size, size] = np.sqrt(max(total, float32(1e-6)))


@compiled
def _solve(size: int, gamma: float32, q: Array, active: _Active) -> None:
    """Compute goal <- (the set's part of G)^-1 (q - gamma sign), by forward and back substitution."""
    index, sign, _, goal, factor = active
    for i in range(size):
        total = q[index[i]] - gamma * sign[i]
        for j in range(i):
            total -= factor[i, j] * goal[j]
        goal[i] = total / factor[i, i]
    for i in range(size - 1, -1, -1):
        goal[i] /= factor[i, i]
        for j in range(i):
            goal[j] -= factor[i, j] * goal[i]


@compiled
def _move(size: int, gamma: float32, gram: Array, q: Array, active: _Active) -> tuple[int, bool]:
    """Move `value` towards `goal` to the least objective; return the set's new size, and whether all signs hold."""
    index, sign, value, goal, factor = active
    for i in range(size):
        if not goal[i] * sign[i] > 0.0:
            break
    else:
        value[:size] = goal[:size]
        return size, True
    t, zero = _best_length(size, gamma, gram, q, active)
    count = 0
    for i in range(size):
        new = value[i] + t * (goal[i] - value[i])
        if new != 0.0 and i != zero:
            index[count] = index[i]
            value[count] = new
            sign[count] = np.sign(new)
            count += 1
    if count != size:
        for i in range(count):
            _extend_factor(i, gram, index, factor)
    return count, False


@compiled
def _best_length(size: int, gamma: float32, gram: Array, q: Array, active: _Active) -> tuple[float32, int]:
    """Find the t of least objective at value + t (goal - value), and the index of a coefficient that is 0 there, or -1.

    The quadratic part is a t^2 / 2 + b t. Candidates are t = 1 and each t where a coefficient changes its sign.
    """
    index, _, value, goal, _ = active
    a = ZERO
    b = ZERO
    for i in range(size):
        row = gram[index[i]]
        along = ZERO
        current = ZERO
        for j in range(size):
            along += row[index[j]] * (goal[j] - value[j])
            current += row[index[j]] * value[j]
        distance = goal[i] - value[i]
        a += distance * along
        b += distance * (current - q[index[i]])
    least = float32(np.inf)
    best = ONE
    zero = -1
    for candidate in range(-1, size):
        t = ONE
        if candidate >= 0:
            if goal[candidate] * value[candidate] >= 0.0:
                continue
            t = value[candidate] / (value[candidate] - goal[candidate])
        total = HALF * a * t * t + b * t
        for i in range(size):
            total += gamma * abs(value[i] + t * (goal[i] - value[i]))
        if total < least:
            least = total
            best = t
            zero = candidate
    return best, zero


@compiled_solver
def coordinate_descent(out: Array, gram: Array, correlations: Array, penalty: float, workspaces: Array) -> None:
    """Compute each row of out (m, n), the minimiser for a row of correlations q (m, n), by coordinate descent.

    A working set of coordinates is optimised alone, with its own small part of G; then the coordinates outside that
    violate their condition most join the set.

    References
    ----------
    .. [1] J. Friedman, T. Hastie and R. Tibshirani, "Regularization paths for generalized linear models via coordinate
       descent", 2010, section 2.6.
    .. [2] M. Massias, A. Gramfort and J. Salmon, "Celer: a fast solver for the lasso with dual extrapolation", 2018:
       working sets.
    """
    gamma = float32(penalty)
    threads = len(workspaces)
    for thread in prange(threads):
        for example in range(thread, len(out), threads):
            _descend(out[example], gram, correlations[example], gamma, workspaces[thread])


# A coordinate joins the set if its violation is at least this share of the worst violation.
JOIN_SHARE = 0.2
# The set's own problem is solved when no coordinate moves its correlation by more than this share of the penalty ...
SETTLED = 2e-3
# ... and the whole problem, when no coordinate outside violates its condition by more than this share of it.
DESCENT_OPTIMAL = 5e-3
MAX_SWEEPS = 400
MAX_ROUNDS = 100


@compiled
def _descend(s: Array, gram: Array, q: Array, gamma: float32, small: Array) -> None:
    n = len(gram)
    size = 0
    index = np.empty(n, np.int64)
    value = np.empty(n, float32)
    remaining = q.copy()
    s[:] = 0.0
    for _ in range(MAX_ROUNDS):
        worst = ZERO
        for j in range(n):
            violation = abs(remaining[j]) - gamma
            if violation > worst and s[j] == 0.0:
                worst = violation
        if worst <= DESCENT_OPTIMAL * gamma:
            return
        size = _leave(size, index, value, small)
        threshold = gamma + float32(JOIN_SHARE) * worst
        for j in range(n):
            if abs(remaining[j]) >= threshold and s[j] == 0.0:
                index[size] = j
                value[size] = 0.0
                row = gram[j]
                for i in range(size + 1):
                    small[size, i] = small[i, size] = row[index[i]]
                size += 1
        _settle(size, gamma, small, value, remaining[index[:size]])
        _refresh(s, remaining, size, gram, index, value, q)


@compiled
def _leave(size: int, index: Array, value: Array, small: Array) -> int:
    """Remove coordinates that became 0 from the set, move the last ones to their places, and return the new size."""
    i = 0
    while i < size:
        if value[i] != 0.0:
            i += 1
            continue
        size -= 1
        index[i] = index[size]
        value[i] = value[size]
        small[i, :size] = small[size, :size]
        small[:size, i] = small[:size, size]
        small[i, i] = small[size, size]
    return size


@compiled
def _settle(size: int, gamma: float32, small: Array, value: Array, remaining: Array) -> None:
    """Descend on the set alone until coordinates hardly move; each move updates the set's correlations `remaining`."""
    for _ in range(MAX_SWEEPS):
        farthest = ZERO
        for i in range(size):
            curvature = small[i, i]
            pull = remaining[i] + curvature * value[i]
            soft = max(pull - gamma, ZERO) + min(pull + gamma, ZERO)
            step = soft / curvature - value[i]
            if step != 0.0:
                value[i] += step
                for j in range(size):
                    remaining[j] -= step * small[i, j]
                farthest = max(farthest, abs(step) * curvature)
        if farthest <= float32(SETTLED) * gamma:
            return


@compiled
def _refresh(s: Array, remaining: Array, size: int, gram: Array, index: Array, value: Array, q: Array) -> None:
    """Write the set's values to `s`, and compute remaining <- q - s G with four rows of G at a time."""
    s[:] = 0.0
    remaining[:] = q
    for i in range(size):
        s[index[i]] = value[i]
    fours = size // 4 * 4
    for i in range(0, fours, 4):
        a = gram[index[i]]
        b = gram[index[i + 1]]
        c = gram[index[i + 2]]
        d = gram[index[i + 3]]
        for j in range(len(remaining)):
            remaining[j] -= value[i] * a[j] + value[i + 1] * b[j] + value[i + 2] * c[j] + value[i + 3] * d[j]
    for i in range(fours, size):
        a = gram[index[i]]
        for j in range(len(remaining)):
            remaining[j] -= value[i] * a[j]


@compiled
def descend_bases(bases: Array, gradient: Array, second: Array, first: int, change: Array) -> None:
    """Move some rows of bases B (n, k), from row `first` on, to their minimum one by one, with norms at most 1.

    `gradient` (rows, k) is A B - C for these rows before the call, with A = `second` (n, n); a row's gradient is
    updated for the changes of the rows before it. `change` (rows, k) receives the change of each row.
    """
    for i in range(len(gradient)):
        g = gradient[i]
        b = bases[first + i]
        d = change[i]
        weights = second[first + i]
        for before in range(i):
            weight = weights[first + before]
            moved = change[before]
            for j in range(len(g)):
                g[j] += weight * moved[j]
        curvature = weights[first + i]
        square = ZERO
        if curvature <= 0.0:
            d[:] = 0.0
            continue
        for j in range(len(g)):
            d[j] = b[j] - g[j] / curvature
            square += d[j] * d[j]
        scale = ONE / np.sqrt(max(square, ONE))
        for j in range(len(g)):
            new = d[j] * scale
            d[j] = new - b[j]
            b[j] = new
