"""What follows from the layers of a net: the shapes of what they give and learn, and their multiply-adds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from respeed.model.paper import Case
from respeed.workloads._networks import Convolution, Images, Linear, MaxPool, Mean, Node, Normalization, make_network

# Of one example: (channels, rows, columns) or (units,).
Shape = tuple[int, ...]


def shapes(nodes: Sequence[Node], side: int) -> list[Shape]:
    """The shape of what each node gives for images of side x side pixels. ValueError where they are too small."""
    found: list[Shape] = []
    for node in nodes:
        found.append(_shape(node, found[node.sources[0]] if node.sources else (), side))
    return found


def _shape(node: Node, source: Shape, side: int) -> Shape:
    layer = node.layer
    if isinstance(layer, Images):
        return (layer.channels, side, side)
    if isinstance(layer, Convolution):
        return (layer.channels, *(_windows(pixels, layer, up=False) for pixels in source[1:]))
    if isinstance(layer, MaxPool):
        return (source[0], *(_windows(pixels, layer, up=layer.up) for pixels in source[1:]))
    if isinstance(layer, Linear):
        return (layer.units,)
    return source[:1] if isinstance(layer, Mean) else source


def _windows(pixels: int, layer: Convolution | MaxPool, *, up: bool) -> int:
    """How many windows there are along so many pixels."""
    left = pixels + 2 * layer.padding - layer.kernel
    if left < 0:
        raise ValueError(f"images are too small for this net: {pixels} pixels where a window has {layer.kernel}")
    # One that is not whole must still begin within the image.
    return (min(left + layer.stride - 1, pixels + layer.padding - 1) if up else left) // layer.stride + 1


def parameter_shapes(node: Node, source: Shape) -> list[Shape]:
    """Of what the node learns, its weights first: (outputs, inputs of a group, kernel, kernel), (outputs, inputs), or
    for each channel."""
    layer = node.layer
    if isinstance(layer, Convolution):
        weights = (layer.channels, source[0] // layer.groups, layer.kernel, layer.kernel)
        return [weights, (layer.channels,)] if layer.bias else [weights]
    if isinstance(layer, Linear):
        return [(layer.units, math.prod(source)), (layer.units,)]
    return [source[:1], source[:1]] if isinstance(layer, Normalization) else []


def own_gradients(nodes: Sequence[Node], images_too: bool) -> set[int]:
    """Nodes whose gradient is an array of its own: that of one which is only added to a normalisation is the sum's."""
    return {node.sources[0] for node in nodes[1:]} - (set() if images_too else {0})


@dataclass(frozen=True)
class Sizes:
    """What a case comes to: its nodes, the shape of what each gives for an example, and B. `learns`: a step ends with
    an update; `images_too`: it computes the gradient of the images."""

    nodes: tuple[Node, ...]
    shapes: list[Shape]
    batch: int
    learns: bool
    images_too: bool

    @property
    def learned(self) -> list[list[Shape]]:
        """The shapes of each node's parameters."""
        sources = (self.shapes[node.sources[0]] if node.sources else () for node in self.nodes)
        return [parameter_shapes(node, source) for node, source in zip(self.nodes, sources, strict=True)]

    @property
    def parameters(self) -> int:
        """Numbers that the net learns."""
        return sum(math.prod(shape) for shapes in self.learned for shape in shapes)

    @property
    def outputs(self) -> int:
        """Numbers that all nodes give for a mini-batch, the images among them."""
        return self.batch * sum(math.prod(shape) for shape in self.shapes)

    @property
    def gradients(self) -> int:
        """Numbers of those gradients of them that are arrays of their own."""
        owners = {*own_gradients(self.nodes, self.images_too), len(self.nodes) - 1}
        return self.batch * sum(math.prod(self.shapes[number]) for number in owners)

    @property
    def multiply_adds(self) -> list[int]:
        """Of each node's forward pass for one example: each weight once for every pixel that is computed from it."""
        return [
            math.prod(shapes[0]) * math.prod(shape[1:]) if isinstance(node.layer, Convolution | Linear) else 0
            for node, shapes, shape in zip(self.nodes, self.learned, self.shapes, strict=True)
        ]


def sizes_of(case: Case) -> Sizes:
    given = case.parameters
    nodes = make_network(given["network"], given["width"], given["classes"])
    learns, images_too = given["update"] == "sgd", given["gradients"] == "parameters-and-images"
    return Sizes(nodes, shapes(nodes, given["side"]), given["batch"], learns, images_too)
