"""Check a net's step against float64, layer by layer, each layer on the arrays that it had in the program's step.

The net runs once more in float64, for some examples. Forward, the program's input of each layer is first compared with
the float64 output of the layers before; then the layer is computed from that input. Backward, the program's gradient at
each layer's output is first compared with the float64 gradient of the layers behind; then the layer's gradients are
computed from it. The gradients of the layer's parameters follow from this input and this gradient, summed over all
examples. As the images and the gradient at the scores are known, the step is right if every comparison holds; this
costs only some examples, and some entries of each parameter. Operations between two layers, such as the sum at a
shortcut, are done by the net's own code. A normalisation needs all examples: it is computed for some channels.

An activation's slope is computed from the program's output, which has been compared: rounding may put a number near
zero on either side of it.
"""

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx

from respeed.workloads import Arrays, Named, Pair, Pairs
from respeed.workloads._nets import ACTIVATIONS, layers
from respeed.workloads._replicas import of_all
from respeed.workloads.arrays import checked_rows, largest_error, moved, times, times_transposed

# The weights between so many outputs and so many inputs of a layer are compared: UNITS of a linear layer; KERNELS of a
# convolution, at all offsets of its kernel.
UNITS = 8
KERNELS = 2
# The comparisons of running means and variances, by the names of a normalisation's buffers.
RUNNING = {"running_mean": "BatchNorm2d running_mean", "running_var": "BatchNorm2d running_var"}


@dataclass
class Call:
    """Input x and output y of a layer in a step, and the gradient g at y; each of shape (B, ...).

    A layer that works in place overwrites the y of the layer before it; the x and g of that layer stay right.
    """

    x: Tensor
    y: Tensor
    g: Any = None


def watch(net: nn.Module) -> list[Call]:
    """Return a list to which each call of a layer is appended, in order. The arrays are kept, not copied."""
    calls: list[Call] = []

    def note(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        call = Call(inputs[0].detach(), output.detach())
        calls.append(call)
        if not isinstance(layer, ACTIVATIONS):
            output.register_hook(functools.partial(setattr, call, "g"))

    for layer in layers(net).values():
        layer.register_forward_hook(note)
    return calls


class NetCheck:
    """Compares a step of a net with float64.

    Parameters
    ----------
    net : Module
        The net on device "meta": shapes without numbers.
    given : Arrays
        Parameters, and running means and variances, by name, before the step.
    seen : Module
        The net of the program after the step.
    calls : sequence of Call
        The calls of the layers of `seen` in the step.
    rate : float
        The learning rate: the step subtracts rate * gradients from the parameters. 0 if it does not learn.
    """

    def __init__(self, net: nn.Module, given: Arrays, seen: nn.Module, calls: Sequence[Call], rate: float) -> None:
        self.net = net
        self.given = given
        self.seen = seen
        self.calls = calls
        self.rate = rate
        # The errors of the layers, by the name of the comparison, such as "Conv2d inputs".
        self.errors: dict[str, list[float]] = defaultdict(list)
        # Seeded by the first parameter, which is the same in all replicas.
        name = next(iter(net.state_dict()))
        first = np.asarray(getattr(given, name), np.float32)
        self.random = np.random.default_rng(first.ravel()[:4].view(np.uint32))
        last = len(calls[0].x) - 1
        self.examples = np.append(self.random.permutation(last)[:1], last)

    def pairs(self) -> Pairs:
        """Return the errors, each paired with 0, by the name of the comparison."""
        return {name: (np.array(errors), np.zeros(len(errors)), 1.0) for name, errors in self.errors.items()}

    def run(self, images: np.ndarray, error: np.ndarray) -> Tensor:
        """Compare every layer, given images (B, ...) and `error`, the gradient at the scores (B, classes).

        Returns the gradient at the images, in float64, for the compared examples alone.
        """
        self.compare("images", self.calls[0].x, images)
        self.compare("gradients at scores", self.calls[-1].g, error)
        twin = deepcopy(self.net)
        calls = iter(self.calls)
        for name, layer in layers(twin).items():
            look = functools.partial(self.look, calls, name)
            layer.forward = functools.partial(_Through.apply, look)
        with torch.enable_grad():
            x = _double(images[self.examples]).requires_grad_()
            scores = twin(x)
            self.compare("scores", self.calls[-1].y[self.examples], scores)
            scores.backward(_double(error[self.examples]))
        return x.grad

    def compare(self, name: str, result: Tensor, expected: Tensor | np.ndarray, size: float = 0.0) -> None:
        """Add the error of an array to `errors`; NaN entries of `expected` are skipped, as not computed."""
        values = _host(result)
        reference = _host(expected)
        self.note(name, (values, np.where(np.isnan(reference), values, reference), size))

    def note(self, name: str, pair: Pair) -> None:
        """Add the error of a pair to `errors`."""
        self.errors[name].append(largest_error(pair))

    def look(self, calls: Iterator[Call], name: str, x: Tensor) -> "Both":
        """Compare a layer with float64; return its output and its backward function.

        x is the float64 output of the layers before; the layer's output is computed from the input that it had in the
        program. Of an activation, the program's output is compared and returned.
        """
        call = next(calls)
        layer = self.net.get_submodule(name)
        kind = type(layer).__name__
        if isinstance(layer, ACTIVATIONS):
            self.compare(f"{kind} outputs", call.y[self.examples], layer(x.clone()))
            output = _double(call.y[self.examples])
            is_relu = isinstance(layer, nn.ReLU)
            return output, lambda gradient: gradient * (output > 0 if is_relu else 1 - output * output)
        self.compare(f"{kind} inputs", call.x[self.examples], x)
        given = {key: getattr(self.given, f"{name}.{key}") for key in layer.state_dict()}
        compute = self.normalize if isinstance(layer, nn.BatchNorm2d) else self.compute
        y, input_gradient = compute(name, layer, given, call)

        def backward(gradient: Tensor) -> Tensor:
            self.compare(f"gradients at {kind} outputs", call.g[self.examples], gradient)
            return input_gradient

        return y, backward

    def compute(self, name: str, layer: nn.Module, given: Named, call: Call) -> tuple[Tensor, Tensor]:
        """Compare a layer's parameters; return its output and the gradient at its input, for some examples."""
        x = _double(call.x[self.examples])
        g = _double(call.g[self.examples])
        if isinstance(layer, nn.Linear):  # its weights may be large: they are drawn piece by piece
            weights = given["weight"]
            y = torch.from_numpy(times_transposed(x.numpy(), weights) + np.asarray(given["bias"]))
            gradient = torch.from_numpy(times(g.numpy(), weights))
        else:
            with torch.enable_grad():
                arrays = {key: _double(array) for key, array in given.items()}
                y = torch.func.functional_call(layer, arrays, (x.requires_grad_(),))
                (gradient,) = torch.autograd.grad(y, x, g)
        if "weight" in given:
            self.learn_weights(f"{name}.weight", layer, call)
        if "bias" in given:
            units = checked_rows(g.shape[1])
            terms = _by_channel(_double(call.g[:, units]))
            self.learn(f"{name}.bias", layer, (units,), terms.sum(1), terms)
        return y.detach(), gradient

    def normalize(self, name: str, layer: nn.Module, given: Named, call: Call) -> tuple[Tensor, Tensor]:
        """Compare some channels over all examples; return outputs and gradients at inputs, NaN in other channels."""
        channels = checked_rows(layer.num_features)
        arrays = {key: _double(np.asarray(array)[channels]) for key, array in given.items()}
        x = _double(call.x[:, channels])
        g = _double(call.g[:, channels])
        with torch.enable_grad():
            for array in (x, arrays["weight"], arrays["bias"]):
                array.requires_grad_()
            y = nn.functional.batch_norm(x, **arrays, training=True, momentum=layer.momentum, eps=layer.eps)
            y.backward(g)
        for key, comparison in RUNNING.items():
            before = np.asarray(given[key])[channels]
            after = _host(self.seen.get_buffer(f"{name}.{key}")[channels])
            self.note(comparison, moved(before, after, arrays[key].numpy() - before))
        terms = _by_channel(g)
        for key in ("weight", "bias"):
            self.learn(f"{name}.{key}", layer, (channels,), arrays[key].grad, terms)
        shape = (len(self.examples), *call.x.shape[1:])
        outputs = torch.full(shape, torch.nan, dtype=torch.float64)
        input_gradients = outputs.clone()
        outputs[:, channels] = y.detach()[self.examples]
        input_gradients[:, channels] = x.grad[self.examples]
        return outputs, input_gradients

    def learn_weights(self, name: str, layer: nn.Module, call: Call) -> None:
        """Compare the gradients of some weights, summed over all examples."""
        weights = layer.weight.shape
        count = KERNELS if len(weights) > 2 else UNITS
        outputs = self.some(weights[0], count)
        inputs = self.some(weights[1], count)
        if isinstance(layer, nn.Linear):
            self.learn(name, layer, (outputs, inputs), _double(call.g[:, outputs]).T @ _double(call.x[:, inputs]))
            return
        width = inputs.stop - inputs.start
        size = (1, width, *layer.kernel_size)
        expected = []
        for output in range(outputs.start, outputs.stop):  # each output reads its own group of inputs
            group = output * layer.groups // layer.out_channels
            begin = group * weights[1] + inputs.start
            x = _double(call.x[:, begin : begin + width])
            g = _double(call.g[:, output, None])
            expected.append(nn.grad.conv2d_weight(x, size, g, layer.stride, layer.padding))
        self.learn(name, layer, (outputs, inputs), torch.cat(expected))

    def learn(
        self, name: str, layer: nn.Module, entries: tuple[Any, ...], expected: Tensor, terms: Tensor | None = None
    ) -> None:
        """Compare entries of a parameter's gradient, and of the parameter's change.

        The error of a sum of `terms` (C, numbers) is divided by at least the size that a sum of random signs has, the
        root of the sum of squares. Below a normalisation, sums cancel more: they are too small to judge rounding by.
        """
        kind = f"{_kind(layer)} {name.rpartition('.')[2]}"
        array = self.seen.get_parameter(name)
        mean = np.mean(of_all(_host(expected)), axis=0)
        size = 0.0 if terms is None else float(terms.norm(dim=1).max())
        self.compare(f"{kind} gradients", array.grad[entries], mean, size)
        if not self.rate:
            return
        before = getattr(self.given, name)
        if len(entries) > 1:  # only some rows of a large parameter are drawn
            outputs, inputs = entries
            before = np.asarray(before[outputs])[:, inputs]
        else:
            before = np.asarray(before)[entries]
        self.note(f"{kind} changes", moved(before, _host(array[entries]), -self.rate * mean))

    def some(self, length: int, count: int) -> slice:
        """Draw a slice of up to `count` neighbours among `length`; all such slices are equally likely."""
        start = int(self.random.integers(0, max(1, length - count + 1)))
        return slice(start, min(start + count, length))


def _by_channel(array: Tensor) -> Tensor:
    """Lay out an array (B, C, ...) as (C, numbers)."""
    return array.transpose(0, 1).flatten(1)


# A layer's output in float64, and the function from the gradient at its output to the gradient at its input.
Both = tuple[Tensor, Callable[[Tensor], Tensor]]


class _Through(torch.autograd.Function):  # type: ignore[misc]
    """Replace a layer's forward and backward pass by the output and the function that `look` returns."""

    @staticmethod
    def forward(context: FunctionCtx, look: Callable[[Tensor], Both], x: Tensor) -> Tensor:
        y, context.back = look(x)
        return y.clone()  # a view could not be added to

    @staticmethod
    def backward(context: FunctionCtx, *gradients: Tensor) -> tuple[None, Tensor]:
        return None, context.back(gradients[0])


def _kind(layer: nn.Module) -> str:
    """Return a layer's class, and a convolution's kernel size, on which a library's choice of algorithm depends."""
    kind = type(layer).__name__
    return kind + " {}x{}".format(*layer.kernel_size) if isinstance(layer, nn.Conv2d) else kind


def _double(array: Tensor | np.ndarray) -> Tensor:
    """Return a NumPy array, or a tensor on any device, as a float64 tensor on the CPU."""
    if isinstance(array, Tensor):
        return array.detach().cpu().double().contiguous()
    return torch.from_numpy(np.ascontiguousarray(array, np.float64))


def _host(array: Tensor | np.ndarray) -> np.ndarray:
    return np.asarray(array.detach().cpu() if isinstance(array, Tensor) else array)
