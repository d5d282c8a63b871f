"""Whitened patches of natural images, the usual input of sparse coding.

The images are two photographs, `photographs.npz` beside this file; `photographs.txt` names the authors (CC BY 2.0).

Each whole image is whitened by the filter R(f) = f exp(-(f / f0)^4), which flattens the 1/f spectrum of natural images
and removes frequencies too high for the pixel grid; f0 is 0.4 cycles per pixel. Then patches are cut at random places,
the mean of each is subtracted, and each is scaled to norm 1.
Source: Olshausen and Field, Sparse coding with an overcomplete basis set, 1997, p. 3321.
"""

import functools
from pathlib import Path

import numpy as np

PHOTOGRAPHS = Path(__file__).with_name("photographs.npz")
CUTOFF = 0.4
LEAST_CONTRAST = 0.1


def photographs() -> dict[str, np.ndarray]:
    """Return the photographs by name: grey values in [0, 1], of shape (height, width)."""
    with np.load(PHOTOGRAPHS) as file:
        return {name: file[name] / np.float64(255) for name in ("china", "flower")}


@functools.cache
def whitened_images() -> tuple[np.ndarray, ...]:
    """Return the photographs, whitened, each with variance 1."""
    return tuple(_whiten(image) for image in photographs().values())


def _whiten(image: np.ndarray) -> np.ndarray:
    rows, columns = (np.fft.fftfreq(size) for size in image.shape)
    frequency = np.hypot(rows[:, None], columns[None, :])
    transfer = frequency * np.exp(-((frequency / CUTOFF) ** 4))
    white = np.fft.ifft2(np.fft.fft2(image - image.mean()) * transfer).real
    scaled: np.ndarray = white / white.std()
    return scaled


# The cases of a process have the same patches, at several sparsities.
@functools.lru_cache(maxsize=2)
def natural_patches(count: int, side: int, seed: int) -> np.ndarray:
    """Cut patches (count, side * side), float32, of mean 0 and norm 1, from both images at distinct random places.

    A patch with less than `LEAST_CONTRAST` times the images' variance, such as plain sky, is skipped: scaled to norm 1,
    it would be noise.

    Parameters
    ----------
    count, side : int
        The number of patches, and the pixels on each side of a patch.
    seed : int
        The same seed gives the same patches.
    """
    random = np.random.default_rng(seed)
    images = whitened_images()
    patches = np.empty((count, side * side), np.float32)
    taken = set()
    row = 0
    while row < count:
        number = row % len(images)
        image = images[number]
        y, x = (int(random.integers(size - side + 1)) for size in image.shape)
        if (number, y, x) in taken:
            continue
        taken.add((number, y, x))
        patch = image[y : y + side, x : x + side].ravel()
        patch = patch - patch.mean()
        square = patch @ patch
        if square >= LEAST_CONTRAST * patch.size:
            patches[row] = patch / np.sqrt(square)
            row += 1
    return patches
