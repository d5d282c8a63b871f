"""Where a net is checked: random places of each array, all corners of an image and all examples of a small batch."""

from dataclasses import dataclass

import numpy as np

from respeed.workloads._network_sizes import Shape

PLACES = 24
CHANNELS = 8
# Of a convolution's weights: so many outputs by so many inputs, at every offset of the kernel.
KERNELS = 2


@dataclass(frozen=True)
class Place:
    """Pixels (`examples`, `rows`, `columns`), and at each of them the same neighbouring `channels`; of an array without
    pixels, examples and units."""

    examples: np.ndarray  # (P,)
    rows: np.ndarray  # (P,)
    columns: np.ndarray  # (P,)
    channels: slice

    def of(self, array: np.ndarray) -> np.ndarray:
        """The values there, (P, channels)."""
        if array.ndim == 2:
            return array[self.examples, self.channels]
        return array[self.examples, self.channels, self.rows, self.columns]


def choose_place(batch: int, shape: Shape, random: np.random.Generator) -> Place:
    """Places in an array (batch, *shape)."""
    examples = np.arange(PLACES) % batch if batch <= PLACES else np.sort(random.choice(batch, PLACES, replace=False))
    height, width = shape[1:] or (1, 1)
    rows, columns = random.integers(0, height, PLACES), random.integers(0, width, PLACES)
    # Where padding and odd ends are; at random examples, the last one among them.
    rows[-4:], columns[-4:] = (0, 0, height - 1, height - 1), (0, width - 1, 0, width - 1)
    examples[-4:] = np.append(random.integers(0, batch, 3), batch - 1)
    return Place(examples, rows, columns, choose_slice(shape[0], CHANNELS, random))


def choose_slice(length: int, count: int, random: np.random.Generator) -> slice:
    """Up to `count` neighbours, of which the last ones are as likely as any."""
    start = int(random.integers(0, max(1, length - count + 1)))
    return slice(start, min(start + count, length))


def choose_entries(shape: Shape, random: np.random.Generator) -> tuple[slice, ...]:
    """Which entries of a parameter's gradient are computed: outputs and inputs, at all offsets of a kernel."""
    count = KERNELS if len(shape) == 4 else CHANNELS
    return tuple(choose_slice(length, count, random) for length in shape[:2])
