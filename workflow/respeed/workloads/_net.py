"""A net over torch: its nodes' outputs forward, their gradients backward.

All outputs and gradients of a step stay until the next one, so that what is checked is what was timed. Each then gives
way to its successor: a step finds all of its memory free, and written to when the net was made.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from respeed.workloads._layers import activate, laid_out, make_layer, through_activation
from respeed.workloads._network_sizes import Shape, own_gradients
from respeed.workloads._networks import Node

# Free memory that a net begins with, over that of its outputs and gradients. An array often finds a hole that is a
# little too small, for alignment or for what a convolution keeps meanwhile, and goes elsewhere: over the first four
# steps ResNet-50 took 0.46 of theirs more.
SPARE = 0.5
PIECE = 2**26  # numbers; a larger array would not be kept when it is given up


class Net:
    """`zeros` makes an array; `layout` is a memory format of torch. `images_too`: whether the gradient of the images is
    computed, of which learning has no use."""

    def __init__(
        self,
        nodes: Sequence[Node],
        shapes: Sequence[Shape],
        batch: int,
        parameters: Sequence[Sequence[Tensor]],
        zeros: Callable[..., Tensor],
        layout: Any,
        images_too: bool,
    ) -> None:
        self.nodes, self.images_too = nodes, images_too
        written = [None, *(_zeros(zeros, batch, shape, layout) for shape in shapes[1:])]
        self.layers: list[Any] = [  # the images have none
            None if y is None else make_layer(node.layer, [laid_out(array, layout) for array in learned], y)
            for node, learned, y in zip(nodes, parameters, written, strict=True)
        ]
        self.outputs: list[Any] = written
        # Of what each activation is applied to.
        self.gradients: list[Any] = [
            _zeros(zeros, batch, shape, layout) if number in own_gradients(nodes, images_too) else None
            for number, shape in enumerate(shapes)
        ]
        numbers = sum(array.numel() for array in (*self.outputs, *self.gradients) if array is not None)
        spare = [zeros(PIECE) for _ in range(round(SPARE * numbers / PIECE))]
        del spare

    def forward(self, images: Tensor) -> Tensor:
        """What the last node gives for images (B, C, H, W) in the layout of the net."""
        self.outputs[0] = images
        for number, node in enumerate(self.nodes[1:], 1):
            self.outputs[number] = None
            y = self.layers[number].forward(*(self.outputs[source] for source in node.sources))
            activate(y, node.activation)
            self.outputs[number] = y
        return y

    def backward(self, error: Tensor) -> None:
        """All gradients, given that of what the last node gave; it has no activation."""
        given = {len(self.nodes) - 1}
        self.gradients[-1] = error
        for number in range(len(self.nodes) - 1, 0, -1):
            node, g, y = self.nodes[number], self.gradients[number], self.outputs[number]
            through_activation(g, y, node.activation)
            for source in set(node.sources) - given:
                self.gradients[source] = None
            source = node.sources[0]
            shares = self.layers[number].backward(g, self.outputs[source], y, source > 0 or self.images_too)
            for source, share in zip(node.sources, shares, strict=False):
                # A share is a new array, but for the gradient that a normalisation hands on: that comes first.
                self.gradients[source] = share.add_(self.gradients[source]) if source in given else share
                given.add(source)

    def learned(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Every parameter and its gradient."""
        for layer in self.layers[1:]:
            yield from zip(layer.parameters, layer.gradients, strict=True)

    def start_over(self) -> None:
        """As before the first step, without outputs and gradients."""
        for layer in self.layers[1:]:
            layer.start_over()
        self.outputs[:] = self.gradients[:] = len(self.nodes) * [None]


def _zeros(zeros: Callable[..., Tensor], batch: int, shape: Shape, layout: Any) -> Tensor:
    """As a layer gives them, (B, C, H, W) in the layout, or (B, units)."""
    if len(shape) == 1 or layout == torch.contiguous_format:
        return zeros(batch, *shape)
    channels, *pixels = shape
    return zeros(batch, *pixels, channels).permute(0, 3, 1, 2)
