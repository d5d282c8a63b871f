"""Natural images that need no download: the two photographs that come with scikit-learn.

china.jpg by danielbuechele, flower.jpg by vultilion (Flickr), CC BY 2.0, as scikit-learn's README.txt beside them says.
"""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from respeed.model.errors import NotMeasurable

NAMES = ("china.jpg", "flower.jpg")
# Where a copy is kept for machines that have neither scikit-learn nor a decoder of pictures.
COPY = Path(__file__).resolve().parents[3] / "results" / "data" / "photographs.npz"


def photographs() -> dict[str, np.ndarray]:
    """The photographs by name, grey, (height, width) in [0, 1]; NotMeasurable if they are nowhere to be found."""
    if COPY.exists():
        with np.load(COPY) as copy:
            return {name: copy[name] / np.float64(255) for name in NAMES}
    return {name: grey / np.float64(255) for name, grey in _decode().items()}


def keep_copy() -> Path:
    """Write the photographs where a machine without scikit-learn finds them, grey, eight bits a pixel."""
    COPY.parent.mkdir(parents=True, exist_ok=True)
    pictures: dict[str, Any] = _decode()
    np.savez_compressed(COPY, **pictures)
    return COPY


def _decode() -> dict[str, np.ndarray]:
    # The package is found, not imported: it takes a second to load and nothing of it is needed but two files.
    found = importlib.util.find_spec("sklearn")
    if found is None or not found.submodule_search_locations:
        raise NotMeasurable(f"no photographs: scikit-learn is not installed and there is no {COPY}")
    from PIL import Image

    folder = Path(next(iter(found.submodule_search_locations))) / "datasets" / "images"
    return {name: np.asarray(Image.open(folder / name).convert("L")) for name in NAMES}
