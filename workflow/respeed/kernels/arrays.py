"""A pass that SciPy has for one thread alone: a filter of an image."""

from numba import prange

from respeed.kernels import Array, compiled_parallel


@compiled_parallel
def filter_image(out: Array, image: Array, weights: Array) -> None:
    """Compute out_ij <- sum over p, q of weights_pq image_(i+p-r)(j+q-r), with 0 outside the image.

    `out` and `image` are (m, n), `weights` is (2 r + 1, 2 r + 1).
    """
    radius = len(weights) // 2
    rows, columns = image.shape
    for row in prange(rows):
        out[row] = 0
        for p in range(len(weights)):
            source = row + p - radius
            if source < 0 or source >= rows:
                continue
            for q in range(len(weights)):
                weight = weights[p, q]
                first = max(0, radius - q)
                last = min(columns, columns + radius - q)
                o = out[row, first:last]
                line = image[source, first + q - radius : last + q - radius]
                for j in range(len(o)):
                    o[j] += weight * line[j]
