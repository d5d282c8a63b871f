"""Is the result right? Against plain NumPy in float64, before anything is timed."""

import math
from collections.abc import Iterator

import numpy as np

from respeed.workloads import Arrays, Expected, Inputs, Product
from respeed.workloads._common import CHUNK, Drawn

# Largest error of any array of the state, over the largest value of the reference. Steps in fp64 come to at most 5e-14,
# and to 3e-8 or more where nothing but their products, or what is between these, is of fp32. Steps in fp32 come to at
# most 6e-5; the same steps with their inputs rounded to TF32's ten bits come to 2e-4 to 1.1e-3, cut off after ten to
# 2.4e-3; in fp16 they come to 3e-4 to 7e-4, in bf16, of seven bits, to 2.7e-3 to 5e-3: at smoke sizes as at real ones.
# So bf16 does not pass as fp16, neither these nor TF32 as fp32, and nothing in fp32 as fp64.
TOLERANCE = {"fp64": 1e-10, "fp32": 1e-4, "tf32": 5e-3, "fp16": 2e-3, "bf16": 1.5e-2}

# Random vectors that a product is compared on. One alone may happen to cancel what most of the product consists of.
VECTORS = 8


def state_errors(inputs: Inputs, state: Arrays, expected: Expected) -> dict[str, float]:
    """max |state - expected| / max |expected| of each array that the reference gives; NaN where it is not finite.

    An array that the program was given (in `inputs`) is compared by what the step changed in it: against the change,
    not against the parameter, must an error show. A product is compared by what it does to random vectors.
    """
    errors = {}
    for name, reference in expected.items():
        if isinstance(reference, Product):
            vectors: np.ndarray = np.random.default_rng(0).standard_normal((reference.right.shape[-1], VECTORS))
            right = _applied(reference, vectors)
            found = _times(state[name], vectors, inputs.get(name))
        else:
            right = reference
            found = state[name] if name not in inputs else np.subtract(state[name], inputs[name], dtype=np.float64)
        scale = float(np.abs(right).max())
        largest = float(np.abs(found - right).max())
        errors[name] = largest / scale if scale > 0 else largest
    return errors


def _applied(product: Product, vectors: np.ndarray) -> np.ndarray:
    """factor left @ (right @ vectors) in float64, the rows of a stack one below another."""
    if isinstance(product.left, np.ndarray) and product.left.ndim == 2:
        return product.factor * _times(product.left, _times(product.right, vectors))
    pairs = zip(product.left, product.right, strict=True)
    return product.factor * np.concatenate([_times(left, _times(right, vectors)) for left, right in pairs])


def _times(matrix: np.ndarray, vectors: np.ndarray, before: Drawn | None = None) -> np.ndarray:
    """(matrix - before) @ vectors in float64, the rows of a stack one below another."""
    matrix = matrix.reshape(-1, matrix.shape[-1])
    out = np.empty((len(matrix), vectors.shape[1]))
    for rows, values in before.as_matrix().chunks() if before is not None else _chunks(matrix):
        out[rows] = np.subtract(matrix[rows], values, dtype=np.float64) @ vectors
    return out


def _chunks(matrix: np.ndarray) -> Iterator[tuple[slice, float]]:
    """As of a Drawn matrix of zeros."""
    step = max(1, CHUNK // matrix.shape[1])
    for start in range(0, len(matrix), step):
        yield slice(start, start + step), 0.0


def what_is_wrong(errors: dict[str, float], tolerance: float) -> str | None:
    """One line that names the worst array, if any is off; None if all is right. Not-a-number is wrong."""
    worst = max(errors, key=lambda name: errors[name] if math.isfinite(errors[name]) else math.inf)
    if errors[worst] <= tolerance:
        return None
    return f"wrong result: {worst} is off by {errors[worst]:.2g} of its largest value, {tolerance:.0e} allowed"
