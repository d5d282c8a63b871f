"""What follows from the layers of a net: the shapes of what they give and learn, and their multiply-adds."""

import math
from collections.abc import Sequence

from respeed.workloads._networks import Convolution, Images, Linear, MaxPool, Mean, Node, Normalization

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


def source_shape(nodes: Sequence[Node], found: Sequence[Shape], number: int) -> Shape:
    """The shape of what the node reads."""
    sources = nodes[number].sources
    return found[sources[0]] if sources else ()


def multiply_adds(nodes: Sequence[Node], side: int) -> list[int]:
    """Of each node's forward pass for one example: each weight once for every pixel that is computed from it."""
    found = shapes(nodes, side)
    counts = []
    for number, node in enumerate(nodes):
        learned = parameter_shapes(node, source_shape(nodes, found, number))
        multiplies = isinstance(node.layer, Convolution | Linear)
        counts.append(math.prod(learned[0]) * math.prod(found[number][1:]) if multiplies else 0)
    return counts


def parameter_count(nodes: Sequence[Node], side: int) -> int:
    """How many numbers the net learns."""
    found = shapes(nodes, side)
    return sum(
        math.prod(shape)
        for number, node in enumerate(nodes)
        for shape in parameter_shapes(node, source_shape(nodes, found, number))
    )
