"""Filters of images, as in image processing: one channel, one small filter."""

from numpy.random import Generator
from scipy.ndimage import correlate

from respeed.kernels.arrays import filter_image
from respeed.workloads import Arrays, Named, Pairs, Row, Workload, workload
from respeed.workloads.arrays import Zeros, double, symmetric


@workload
class Convolution(Workload):
    """Filter an image: out_ij = sum over |p|, |q| <= r of weights_pq image_(i+p)(j+q), with 0 outside the image.

    Parameters
    ----------
    batch : int
        Pixels of the image; a rate is in pixels per second.
    width : int
        Pixels of a row of the image.
    radius : int
        r: the filter has 2 r + 1 rows and columns.
    """

    batch: int
    width: int
    radius: int

    precisions = ("fp32", "tf32", "fp64")
    allocates = True

    def arrays(self, random: Generator) -> Named:
        """Draw image and filter from [-1, 1)."""
        shape = (self.batch // self.width, self.width)
        side = 2 * self.radius + 1
        return {
            "image": symmetric(random, 1.0, *shape),
            "weights": symmetric(random, 1.0, side, side),
            "out": Zeros(*shape),
        }

    def torch(self, a: Arrays, row: Row) -> None:
        """Filter by oneDNN, cuDNN or MIOpen, as a convolution layer of one channel, and copy the result to `out`."""
        from torch.nn.functional import conv2d

        a.out.copy_(conv2d(a.image[None, None], a.weights[None, None], padding=self.radius)[0, 0])

    def numpy(self, a: Arrays, row: Row) -> None:
        """Filter by a compiled pass on all threads, as SciPy's filter uses one."""
        filter_image(a.out, a.image, a.weights)

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare every pixel."""
        image = double(given.image)
        weights = double(given.weights)
        return {"out": (seen.out, correlate(image, weights, mode="constant"))}

    def flops(self) -> float:
        """Count a multiplication and an addition for each weight at each pixel."""
        return 2.0 * (2 * self.radius + 1) ** 2 * self.batch

    def traffic_bytes(self) -> float:
        """Count reads of the image and of the filter, and writes of the filtered image."""
        return 8.0 * self.batch + 4.0 * (2 * self.radius + 1) ** 2
