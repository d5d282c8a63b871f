"""Overlapping square windows of images that are kept tile by tile: cut out, and added up again.

Images are (G, G, B, n): G x G tiles of n pixels, for B examples. Window w of R^2, R = G - across + 1, is the square of
across x across tiles at (w // R, w % R); its pixels are those of its tiles, one tile after the other.
"""

import numpy as np

from respeed.kernels.compiled import compiled


@compiled
def cut(start: int, stop: int, image: np.ndarray, first: int, across: int, out: np.ndarray, top: int) -> None:
    """out[i, top + b] <- window first + i of example b, for rows i B + b of [start, stop); out (c, m, across^2 n)."""
    B, n = image.shape[2], image.shape[3]
    side = image.shape[0] - across + 1
    for row in range(start, stop):
        i, b = row // B, row % B
        down, right, o = (first + i) // side, (first + i) % side, out[i, top + b]
        for d in range(across):
            for r in range(across):
                tile, begin = image[down + d, right + r, b], (d * across + r) * n
                for j in range(n):
                    o[begin + j] = tile[j]


@compiled
def add_up(start: int, stop: int, windows: np.ndarray, first: int, across: int, image: np.ndarray) -> None:
    """image <- image + windows (c, B, across^2 n) at the places of first ... first + c - 1, for examples [start, stop).

    Windows overlap, those of different examples do not: rows are examples, so that threads never meet.
    """
    n, side = image.shape[3], image.shape[0] - across + 1
    for i in range(windows.shape[0]):
        down, right = (first + i) // side, (first + i) % side
        for b in range(start, stop):
            window = windows[i, b]
            for d in range(across):
                for r in range(across):
                    tile, begin = image[down + d, right + r, b], (d * across + r) * n
                    for j in range(n):
                        tile[j] += window[begin + j]
