"""A training step of a convolutional net: forward, the gradient at the output, backward, and perhaps an update."""

import math
from copy import deepcopy
from dataclasses import replace
from functools import cache, cached_property
from typing import Literal

import numpy as np
import torch
from numpy.random import Generator
from torch import nn
from torch.nn.functional import cross_entropy

from respeed.model import Names
from respeed.workloads import Arrays, Named, Pairs, Row, Workload, workload
from respeed.workloads._net_check import NetCheck, watch
from respeed.workloads._nets import Counts, count, image_of, make_net
from respeed.workloads.arrays import Drawn, softmax_error, symmetric

# How many mini-batches steps that learn cycle through: with only one, there would soon be nothing to learn.
BATCHES = 4
# Channels that oneDNN works on at a time, with AVX-512.
CHANNELS = 16
# Free memory that a net needs besides its outputs and gradients, as a share of their size. A free block is often a
# little too small for the next array, because of alignment or of a convolution's temporary arrays: in its first four
# steps ResNet-50 took 0.46 times their size more.
SPARE = 0.5


# The shape of an example, and the lower and upper bound of its values.
Example = tuple[tuple[int, ...], float, float]


@workload
class _Net(Workload):
    """Train a net of `torch.nn` modules as PyTorch's users do; a subclass makes the net.

    Parameters
    ----------
    batch, classes : int
        B, the number of examples in a mini-batch, and the number of classes.
    learning_rate : float
        parameters -= learning_rate * gradients of the mean loss.
    """

    batch: int
    classes: int
    learning_rate: float

    together = True
    allocates = True
    by_autograd = True
    # Whether a step ends with an update, and whether it computes the gradient at the images.
    learns = True
    images_too = False
    # The rank of this replica, if there are several: each has mini-batches of its own.
    rank = 0

    def make(self) -> nn.Module:
        """Return the net on torch's device "meta": shapes without numbers."""
        raise NotImplementedError

    @property
    def example(self) -> Example:
        """Return the shape of an example, and the lower and upper bound of its values."""
        raise NotImplementedError

    @cached_property
    def net(self) -> nn.Module:
        """Return the net without numbers. It is made once: callers only read it."""
        return self.make()

    @property
    def counts(self) -> Counts:
        """Return the counts of the net, for one example."""
        return _count(replace(self, batch=1))

    @property
    def learned(self) -> Names:  # type: ignore[override]
        """Return the names of the parameters."""
        return tuple(name for name, _ in self.net.named_parameters())

    @property
    def state(self) -> Names:  # type: ignore[override]
        """Return the names of running means and variances, and "turn", the mini-batch's index, if the net learns."""
        return (*(name for name, _ in self.net.named_buffers()), *(("turn",) if self.learns else ()))

    def arrays(self, random: Generator) -> Named:
        """Draw parameters and examples; also labels or, for a net that does not learn, the gradient at the scores.

        Weights are uniform, with variance 2 / (inputs of an output). Biases are near 0 and gains near 1, the usual
        values, but not equal to them: a step that left them out would be found wrong. The gradient has variance 1.
        """
        shape, *pixels = self.example
        arrays: Named = {}
        for name, array in self.net.state_dict().items():
            if "running" in name:
                arrays[name] = np.full(array.shape, float(name.endswith("var")), np.float32)
            else:
                arrays[name] = _start(random, name, array.shape)
        if not self.learns:
            arrays["images"] = Drawn(random, (1, self.batch, *shape), *pixels)
            arrays["error"] = symmetric(random, 3**0.5, self.batch, self.classes)
            return arrays
        for _ in range(1 + self.rank):
            arrays["images"] = Drawn(random, (BATCHES, self.batch, *shape), *pixels)
            arrays["labels"] = random.integers(0, self.classes, (BATCHES, self.batch))
        arrays["turn"] = np.zeros(1, np.int64)
        return arrays

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Build the net from the arrays, in the library's fastest layout, and record its layers' calls.

        Images lie pixel by pixel (channels_last) for oneDNN, whose fp32 convolutions were up to 2.5 times as fast as
        with images that lie channel by channel, and for Tensor Cores, which compute on no other layout. Images lie
        channel by channel if a convolution has fewer channels than oneDNN takes at a time, and for strict fp32 and
        fp64 on GPUs, where cuDNN's algorithms are made for this layout.
        """
        widths = [layer.out_channels for layer in self.net.modules() if isinstance(layer, nn.Conv2d)]
        by_pixel = min(widths, default=0) >= CHANNELS and (row.in_pieces or torch.backends.cudnn.allow_tf32)
        a.net = deepcopy(self.net)
        arrays = a.net.state_dict()
        for name in arrays:
            array = getattr(a, name)
            if by_pixel and array.dim() == 4:
                array = array.contiguous(memory_format=torch.channels_last)
                setattr(a, name, array)
            arrays[name] = array
        a.net.load_state_dict(arrays, assign=True)
        a.model = a.net
        a.parameters = [*a.net.parameters()]
        a.calls = watch(a.net)
        if by_pixel:
            a.images = a.images.permute(0, 1, 3, 4, 2).contiguous().permute(0, 1, 4, 2, 3)
        a.image = a.images[0]
        if not row.in_pieces:
            # Mini-batches are copied to one array: with a graph for each, every graph would keep outputs and gradients.
            a.image = a.image.clone() if self.learns else a.image
            self._rehearse(a)

    def _rehearse(self, a: Arrays) -> None:
        """Have an accelerator's libraries choose their algorithms, which they cannot do while a step is captured."""
        before = {name: array.clone() for name, array in a.net.named_buffers()}
        self._differentiate(a)
        a.net.load_state_dict(before, strict=False)
        self._forget(a)

    def torch(self, a: Arrays, row: Row) -> None:
        """Learn from the next mini-batch; a net that does not learn computes the gradients of its single one."""
        self._forget(a)
        if self.learns and row.in_pieces:
            a.image = a.images[int(a.turn)]
        elif self.learns:  # without waiting for the device
            torch.index_select(a.images, 0, a.turn, out=a.image[None])
        self._differentiate(a)
        if self.learns:  # as torch.optim.SGD does it
            torch._foreach_add_(a.parameters, [parameter.grad for parameter in a.parameters], alpha=-self.learning_rate)
            a.turn.add_(1).remainder_(BATCHES)

    def _differentiate(self, a: Arrays) -> None:
        """Compute the loss and its gradients; without learning, the gradients from `error`, the one at the scores."""
        with torch.enable_grad():
            images = a.image.detach().requires_grad_(self.images_too)
            scores = a.model(images)
            if self.learns:
                loss = cross_entropy(scores, a.labels.index_select(0, a.turn)[0])
                loss.backward()
                a.loss = loss.detach()
            else:
                scores.backward(a.error)
        a.image_gradient = images.grad

    def _forget(self, a: Arrays) -> None:
        """Free the arrays of the last step."""
        a.calls.clear()
        for parameter in a.parameters:
            parameter.grad = None

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare some examples of each layer of a step with float64 (`_net_check`)."""
        check = NetCheck(self.net, given, seen.net, seen.calls, self.learning_rate if self.learns else 0.0)
        turn = 0
        if self.learns:
            turn = int(given.turn[0])
            costs, errors = softmax_error(seen.calls[-1].y.cpu().numpy(), given.labels[turn][:, None])
            check.compare("loss", seen.loss, costs.mean())
            error = errors / self.batch
        else:
            error = np.asarray(given.error)
        gradient = check.run(np.asarray(given.images[turn]), error)
        if self.images_too:
            check.compare("gradients at images", seen.image_gradient[check.examples], gradient)
        return check.pairs()

    def flops(self) -> float:
        """Count two for every multiply-add of linear layers and of convolutions, as direct convolution does them.

        Each multiply-add is done three times: forward, for the gradient at the weights, and for the gradient at the
        input, which the layer that reads the images may not need. Other operations are not counted.
        """
        return 2.0 * self.batch * (3 * self.counts.multiply_adds - (0 if self.images_too else self.counts.first))

    def _numbers(self) -> float:
        """Return how many elements all outputs and the gradients at them have together."""
        at_images = math.prod(self.example[0]) if self.images_too else 0
        return self.batch * (self.counts.outputs + self.counts.gradients + at_images)

    def traffic_bytes(self) -> float:
        """Count each write and read of parameters, of outputs, and of the gradients at both.

        Both passes read parameters, and backward writes their gradients; an update reads parameters and gradients, and
        writes parameters. Outputs are written, and read by both passes. Gradients at outputs are written, and read
        twice: for the gradients at the inputs, and for the gradients of the parameters.
        """
        return 4.0 * ((6 if self.learns else 3) * self.counts.parameters + 3 * self._numbers())

    def memory_bytes(self) -> float:
        """Count parameters, outputs and the gradients of both, mini-batches, and other arrays that layers keep."""
        batches = BATCHES * self.batch * math.prod(self.example[0]) if self.learns else 0
        kept = self.batch * self.counts.kept
        return 4.0 * (2 * self.counts.parameters + (1 + SPARE) * self._numbers() + batches + kept)


@cache
def _count(net: _Net) -> Counts:
    """Return a net's counts, which take a second: they are made once, for mini-batches of all sizes."""
    return count(net.net, net.example[0])


def _start(random: Generator, name: str, shape: tuple[int, ...]) -> Drawn:
    """Draw a parameter as it is before the first step."""
    if len(shape) > 1:
        half = (6.0 / math.prod(shape[1:])) ** 0.5
        return symmetric(random, half, *shape)
    return Drawn(random, shape, 0.5, 1.5) if name.endswith("weight") else symmetric(random, 0.1, *shape)


@workload
class Convnet(_Net):
    """Train a convolutional net, or only compute its gradients, by torch's automatic differentiation.

    For images (B, C, H, W), scores (B, classes) = net(images)::

        loss = mean over the mini-batch of -log softmax(scores)[label]
        parameters -= learning_rate * gradients

    Activations are computed in place. All outputs and gradients are kept until the next step, so that the
    check reads the arrays of a timed step.

    Parameters
    ----------
    network : str
        The name of a net in `_nets.py`.
    width : float
        The number of channels divided by that of the published net.
    batch, side, classes : int
        B, the pixels on each side of a square image, and the number of classes.
    update : {"none", "sgd"}
        With "none", a step is only forward and backward, from a drawn gradient at the scores.
    learning_rate : float
        0 if `update` is "none".
    gradients : {"parameters", "parameters-and-images"}
        Whether backward also computes the gradient at the images, which training does not need.
    """

    network: Literal[
        "alexnet", "vgg16", "vgg19", "resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "resnet200",
        "inception-v1", "lenet-pooled", "digits", "conv-small", "conv-medium", "conv-large",
    ]  # fmt: skip
    width: float
    side: int
    update: Literal["none", "sgd"]
    gradients: Literal["parameters", "parameters-and-images"]

    precisions = ("fp32", "tf32", "fp64")

    def make(self) -> nn.Module:
        """Return the net `network`, with `width` times the published channels."""
        return make_net(self.network, self.width, self.side, self.classes)

    @property
    def example(self) -> Example:
        """Return the shape of an image, and the lower and upper bound of its pixels' values."""
        channels, low, high = image_of(self.network)
        return (channels, self.side, self.side), low, high

    @property
    def learns(self) -> bool:  # type: ignore[override]
        """Return whether a step ends with an update."""
        return self.update == "sgd"

    @property
    def images_too(self) -> bool:  # type: ignore[override]
        """Return whether the gradient at the images is computed too."""
        return self.gradients == "parameters-and-images"
