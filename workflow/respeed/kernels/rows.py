"""Steps of the parallel sparse-coding algorithm that no product does, a row an example or a basis."""

import numpy as np

from respeed.kernels.compiled import compiled


@compiled
def coordinate_step(
    start: int,
    stop: int,
    left: np.ndarray,
    coefficients: np.ndarray,
    diagonal: np.ndarray,
    penalty: float,
    going: np.ndarray,
    out: np.ndarray,
) -> None:
    """out <- soft(left + coefficients diagonal, penalty) / diagonal - coefficients; 0 in rows that are done."""
    gamma, zero = out.dtype.type(penalty), out.dtype.type(0)
    for row in range(start, stop):
        d = out[row]
        if going[row, 0] == 0.0:
            d[:] = 0.0
            continue
        c, s = left[row], coefficients[row]
        for j in range(d.shape[0]):
            pull = c[j] + s[j] * diagonal[j]
            new = (max(pull - gamma, zero) + min(pull + gamma, zero)) / diagonal[j]
            d[j] = new - s[j]


@compiled
def line_search(
    start: int,
    stop: int,
    direction: np.ndarray,
    moved: np.ndarray,
    left: np.ndarray,
    coefficients: np.ndarray,
    penalty: float,
    lengths: np.ndarray,
    least: float,
    objective: np.ndarray,
    going: np.ndarray,
) -> None:
    """Each row takes the first of `lengths` that lowers its objective by the share `least`, or is done."""
    number = objective.dtype.type
    gamma, share, half, zero = number(penalty), number(least), number(0.5), number(0)
    norms = np.empty(lengths.shape[0], objective.dtype)
    for row in range(start, stop):
        if going[row, 0] == 0.0:
            continue
        d, m, c, s = direction[row], moved[row], left[row], coefficients[row]
        slope, curve, norm = zero, zero, zero
        for j in range(d.shape[0]):
            slope += c[j] * d[j]
            curve += m[j] * d[j]
            norm += abs(s[j])
        for i in range(lengths.shape[0]):
            t, total = lengths[i], zero
            for j in range(d.shape[0]):
                total += abs(s[j] + t * d[j])
            norms[i] = total
        going[row, 0] = 0.0
        for i in range(lengths.shape[0]):
            t = lengths[i]
            change = half * t * t * curve - t * slope + gamma * (norms[i] - norm)
            if change < -share * objective[row, 0]:
                for j in range(d.shape[0]):
                    s[j] += t * d[j]
                    c[j] -= t * m[j]
                objective[row, 0] += change
                going[row, 0] = 1.0
                break


@compiled
def gradient_step(
    start: int, stop: int, bases: np.ndarray, product: np.ndarray, target: np.ndarray, rate: float, out: np.ndarray
) -> None:
    """out <- bases - rate (product - target), each row scaled back to norm 1 if it is longer."""
    r, one, zero = out.dtype.type(rate), out.dtype.type(1), out.dtype.type(0)
    for row in range(start, stop):
        b, p, c, o = bases[row], product[row], target[row], out[row]
        square = zero
        for j in range(b.shape[0]):
            new = b[j] - r * (p[j] - c[j])
            o[j] = new
            square += new * new
        if square > 1.0:
            scale = one / np.sqrt(square)
            for j in range(b.shape[0]):
                o[j] *= scale
