"""The check of a net's step against float64, node by node: each from what was seen of the nodes beside it.

What a node gives must follow from what the program's own sources gave, a gradient from those of the nodes that read it,
and a parameter's gradient from both, summed over all examples. As the images and the error at the end are given, all of
the step is then right, for the cost of some examples and channels of each array. The same module computes it in double
precision, of some examples; a normalisation, which needs all of them, of some channels. An activation's slope is that
of the program's own output, which is checked: a number near zero falls on either side.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from respeed.workloads._networks import Concatenation, Linear, LocalResponse, Network, Node, Normalization, rows_of

EXAMPLES = 2
CHANNELS = 8
# Of a convolution's weights: so many outputs by so many inputs, at every offset of the kernel.
KERNELS = 2
# Below any number that a step computes.
NOTHING = 1e-30
# A change smaller than this share of its parameter is measured by that: it is rounded as the parameter is.
SMALL_CHANGE = 1e-3

# What is compared, such as "convolution outputs": the values of each node that has such.
Values = dict[str, dict[int, np.ndarray]]
Seen = Mapping[str, np.ndarray]
Entries = tuple[slice, ...]


@dataclass(frozen=True)
class Plan:
    """Where each node is checked: `channels` (or units) of its outputs and their gradients, `entries` of its
    parameters' gradients. `examples` of the mini-batch: others, and the last one, which a kernel may leave out."""

    nodes: Sequence[Node]
    examples: np.ndarray
    channels: Sequence[slice]
    entries: Sequence[Sequence[Entries]]
    images_too: bool

    @property
    def with_gradients(self) -> range:
        return range(0 if self.images_too else 1, len(self.nodes))

    def place(self, number: int, array: Any) -> Any:
        """The part of an array (B, C, ...) of the node that is compared."""
        return array[self.examples][:, self.channels[number]]


def make_plan(net: Network, seed: int) -> Plan:
    """Drawn by the seed."""
    random = np.random.default_rng(seed)
    others = random.permutation(net.batch - 1)[: EXAMPLES - 1]
    channels: list[slice] = []
    entries: list[list[Entries]] = []
    for node in net.nodes:
        normalizes = isinstance(node.layer, Normalization)
        channels.append(channels[node.sources[0]] if normalizes else _some(node.shape[0], CHANNELS, random))
        count = KERNELS if isinstance(node.layer, nn.Conv2d) else CHANNELS
        drawn = [tuple(_some(length, count, random) for length in shape[:2]) for shape in node.learned]
        entries.append([(channels[-1],)] * 2 if normalizes else drawn)
    return Plan(net.nodes, np.array([*sorted(others), net.batch - 1]), channels, entries, net.images_too)


def _some(length: int, count: int, random: np.random.Generator) -> slice:
    """Up to `count` neighbours, of which the last ones are as likely as any."""
    start = int(random.integers(0, max(1, length - count + 1)))
    return slice(start, min(start + count, length))


def found_values(plan: Plan, seen: Seen) -> Values:
    """What the program computed there. `seen` has of node i: y_i, and g_i, the gradient at it; of each of its
    parameters k gradient_i_k, of a normalisation mean_i and variance_i; and, where the step learned, of those entries
    before_i_k and change_i_k."""
    values: Values = defaultdict(dict)
    for number in plan.with_gradients:
        gradient = plan.place(number, seen[f"g_{number}"]) * _slope(plan, number, seen)
        values[f"gradients at {plan.nodes[number].kind} outputs"][number] = gradient
    for number, node in enumerate(plan.nodes[1:], 1):
        values[f"{node.kind} outputs"][number] = plan.place(number, seen[f"y_{number}"])
        for index, (name, entries) in enumerate(zip(("weight", "bias"), plan.entries[number], strict=False)):
            values[f"{node.kind} {name} gradients"][number] = seen[f"gradient_{number}_{index}"][entries]
            if (changed := f"change_{number}_{index}") in seen:
                values[f"{node.kind} {name} changes"][number] = seen[changed]
        if f"mean_{number}" in seen:
            values["running means"][number] = seen[f"mean_{number}"][plan.channels[number]]
            values["running variances"][number] = seen[f"variance_{number}"][plan.channels[number]]
    return values


def expected_values(
    plan: Plan, parameters: Sequence[Sequence[Any]], error: np.ndarray, seen: Seen, rate: float | None
) -> Values:
    """The same in float64, given the gradient at the last node, `error`; `parameters` before the step. With a learning
    rate, what the parameters change by as well."""
    values: Values = defaultdict(dict)
    sums: dict[int, np.ndarray] = defaultdict(float, {len(plan.nodes) - 1: plan.place(len(plan.nodes) - 1, error)})  # type: ignore[arg-type]
    for number, node in enumerate(plan.nodes[1:], 1):
        kind, first = node.kind, node.sources[0]
        x, g = seen[f"y_{first}"], seen[f"g_{number}"] * _slope(plan, number, seen, whole=True)
        if isinstance(node.layer, Normalization):
            given, share, gradients, running = _normalized(node.layer, x, g, parameters[number], plan.channels[number])
            given, shares = given[plan.examples], [share[plan.examples]]
            values["running means"][number], values["running variances"][number] = running
        elif isinstance(node.layer, Concatenation):
            given = np.concatenate([seen[f"y_{source}"] for source in node.read], 1)
            given, gradients = plan.place(number, given), []
            ends = np.cumsum([plan.nodes[source].shape[0] for source in node.read])
            parts = zip(node.read, np.split(g, ends[:-1], 1), strict=True)
            shares = [plan.place(source, part) for source, part in parts]
        else:
            given, share = _layer(node.layer, x[plan.examples], g[plan.examples], parameters[number])
            given, shares = given[:, plan.channels[number]], [share[:, plan.channels[first]]]
            gradients = _gradients(node.layer, x, g, plan.entries[number])
        for source in node.added:
            given = given + plan.place(number, seen[f"y_{source}"])
            sums[source] = sums[source] + g[plan.examples][:, plan.channels[source]]
        for source, share in zip(node.read, shares, strict=True):
            sums[source] = sums[source] + share
        values[f"{kind} outputs"][number] = _activated(given, node.activation)
        for name, gradient in zip(("weight", "bias"), gradients, strict=False):
            values[f"{kind} {name} gradients"][number] = gradient
            if rate is not None:
                values[f"{kind} {name} changes"][number] = -rate * gradient
    for number in plan.with_gradients:
        values[f"gradients at {plan.nodes[number].kind} outputs"][number] = sums[number] * _slope(plan, number, seen)
    return values


def scaled(plan: Plan, values: Values, seen: Seen) -> dict[str, np.ndarray]:
    """Each node's values over the largest of those that were found, all nodes' one after another: as far off as each is
    by its own measure, they can be compared as one array. A 1 stands last: errors are over an array's largest value,
    and a measure may be larger than all that was found."""
    scales = _scales(plan, seen)
    return {
        name: np.concatenate(
            [np.divide(array.ravel(), scales[name][number], dtype=np.float64) for number, array in sorted(of.items())]
            + [np.ones(1)]
        )
        for name, of in values.items()
    }


def _scales(plan: Plan, seen: Seen) -> dict[str, dict[int, float]]:
    scales = {
        name: {number: max(NOTHING, float(np.abs(array).max())) for number, array in of.items()}
        for name, of in found_values(plan, seen).items()
    }
    for number in range(1, len(plan.nodes)):
        if plan.entries[number] and len(plan.entries[number][-1]) == 1:
            name = ("weight", "bias")[len(plan.entries[number]) - 1]
            of = scales[f"{plan.nodes[number].kind} {name} gradients"]
            of[number] = max(of[number], _size_of_sums(seen[f"g_{number}"], plan.entries[number][-1]))
        for index, name in enumerate(("weight", "bias")):
            if (before := f"before_{number}_{index}") in seen:
                of = scales[f"{plan.nodes[number].kind} {name} changes"]
                of[number] = max(of[number], SMALL_CHANGE * float(np.abs(seen[before]).max()))
    return scales


def _size_of_sums(g: np.ndarray, channels: tuple[slice, ...]) -> float:
    """How large sums of gradients (B, C, ...) over all but the channels are if signs fall at random. One that cancels
    more, as all do below a normalisation, is no measure of its terms' rounding."""
    chosen = np.moveaxis(g[:, channels[0]], 1, 0)
    squares = np.square(chosen.reshape(len(chosen), -1), dtype=np.float64).sum(1)
    return float(np.sqrt(squares.max()))


def _layer(layer: Any, x: np.ndarray, g: np.ndarray, parameters: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """What the layer gives of x in double precision, and the gradient at x, given that at what it gives, g."""
    if isinstance(layer, Linear):  # its weights may be large: they are drawn piece by piece
        weights, bias = parameters
        share = weights.times(g.astype(np.float64))
        if x.ndim == 4:
            share = share.reshape(len(x), *x.shape[2:], x.shape[1]).transpose(0, 3, 1, 2)
        return weights.transposed_times(rows_of(_double(x)).numpy()) + np.asarray(bias), share
    names = [name for name, _ in layer.named_parameters()]
    state = {name: _double(np.asarray(array)) for name, array in zip(names, parameters, strict=True)}
    if isinstance(layer, LocalResponse):
        again = LocalResponse(len(layer.band), layer.size, layer.alpha)
        again.to_empty(device="cpu").double().start_over()
        state["band"] = again.band
    with torch.enable_grad():
        there = _double(x).requires_grad_()
        given = torch.func.functional_call(layer, state, (there,))
        (share,) = torch.autograd.grad(given, there, _double(g))
    return given.detach().numpy(), share.numpy()


def _normalized(
    layer: Normalization, x: np.ndarray, g: np.ndarray, parameters: Sequence[Any], channels: slice
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """The same of a normalisation's channels, over all examples; the gradients of its gain and shift there, and its
    running mean and variance after one step."""
    gain, shift = (_double(np.asarray(array)[channels]).requires_grad_() for array in parameters)
    mean, variance = torch.zeros_like(gain), torch.ones_like(gain)
    with torch.enable_grad():
        there = _double(x[:, channels]).requires_grad_()
        given = nn.functional.batch_norm(there, mean, variance, gain, shift, True, layer.momentum or 0.0, layer.eps)
        share, *gradients = torch.autograd.grad(given, [there, gain, shift], _double(g[:, channels]))
    running = mean.detach().numpy(), variance.detach().numpy()
    return given.detach().numpy(), share.numpy(), [one.numpy() for one in gradients], running


def _gradients(layer: Any, x: np.ndarray, g: np.ndarray, entries: Sequence[Entries]) -> list[np.ndarray]:
    """Of these entries of a layer's parameters, summed over all examples."""
    biases = [_double(g[:, one[0]]).transpose(0, 1).flatten(1).sum(1).numpy() for one in entries if len(one) == 1]
    if len(biases) == len(entries):
        return biases
    outputs, inputs = entries[0]
    there = _double(g[:, outputs])
    if isinstance(layer, nn.Conv2d):
        size = (1, inputs.stop - inputs.start, *layer.kernel_size)
        weights = []
        for number in range(outputs.start, outputs.stop):  # each of its own group of inputs
            begin = number * layer.groups // layer.out_channels * (layer.in_channels // layer.groups) + inputs.start
            read = _double(x[:, begin : begin + size[1]])
            one = there[:, number - outputs.start, None]
            weights.append(nn.grad.conv2d_weight(read, size, one, layer.stride, layer.padding))
        found = torch.cat(weights)
    else:
        found = there.T @ rows_of(_double(x))[:, inputs]
    return [found.numpy(), *biases]


def _double(array: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array, np.float64))


def _activated(z: np.ndarray, activation: str) -> Any:
    if activation == "relu":
        return np.maximum(z, 0.0)
    return np.tanh(z) if activation == "tanh" else z


def _slope(plan: Plan, number: int, seen: Seen, *, whole: bool = False) -> Any:
    """The activation's slope where the node gave what was seen."""
    activation, y = plan.nodes[number].activation, seen[f"y_{number}"]
    if not activation:
        return 1.0
    y = y if whole else plan.place(number, y)
    return y > 0 if activation == "relu" else 1 - np.square(y, dtype=np.float64)
