"""The check of a net's step against NumPy float64, node by node: each from what was seen of the nodes beside it.

What a node gives must follow from what the program's own sources gave, a gradient from those of the nodes that read it,
and a parameter's gradient from both, summed over all examples. As the images and the error at the end are given, all of
the step is then right, for the cost of some places of each array. A slope and the largest of a window are those of the
program's own outputs, which are checked: a number near zero falls on either side.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from respeed.workloads._net_places import Place, choose_entries, choose_place
from respeed.workloads._net_reference import (
    ConvolutionReference,
    LinearReference,
    LocalResponseReference,
    MaxPoolReference,
    MeanReference,
    NormalizationReference,
    running_moments,
)
from respeed.workloads._network_sizes import Sizes
from respeed.workloads._networks import Convolution, Linear, LocalResponse, MaxPool, Mean, Node, Normalization

REFERENCES: Mapping[type, Any] = {
    Convolution: ConvolutionReference(),
    Linear: LinearReference(),
    LocalResponse: LocalResponseReference(),
    MaxPool: MaxPoolReference(),
    Mean: MeanReference(),
    Normalization: NormalizationReference(),
}
# Below any number that a step computes.
NOTHING = 1e-30
# A change smaller than this share of its parameter is measured by that: it is rounded as the parameter is.
SMALL_CHANGE = 1e-3

# What is compared, such as "convolution outputs": the values of each node that has such.
Values = dict[str, dict[int, np.ndarray]]
Seen = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Plan:
    """Where each node is checked: `places` of its outputs and their gradients, `entries` of its parameters'."""

    nodes: Sequence[Node]
    places: Sequence[Place]
    entries: Sequence[Sequence[tuple[slice, ...]]]
    images_too: bool

    @property
    def with_gradients(self) -> range:
        return range(0 if self.images_too else 1, len(self.nodes))

    def kind(self, number: int) -> str:
        return type(self.nodes[number].layer).__name__.lower()


def make_plan(net: Sizes, seed: int) -> Plan:
    """Drawn by the seed."""
    random = np.random.default_rng(seed)
    entries = [[choose_entries(shape, random) for shape in learned] for learned in net.learned]
    return Plan(net.nodes, [choose_place(net.batch, shape, random) for shape in net.shapes], entries, net.images_too)


def found_values(plan: Plan, seen: Seen) -> Values:
    """What the program computed there. `seen` has of node i: y_i, g_i, of each of its parameters k gradient_i_k, of a
    normalisation mean_i and variance_i; and, where the step learned, of those entries before_i_k and change_i_k."""
    values: Values = defaultdict(dict)
    for number in plan.with_gradients:
        values[f"gradients at {plan.kind(number)} outputs"][number] = plan.places[number].of(seen[f"g_{number}"])
    for number in range(1, len(plan.nodes)):
        kind, place = plan.kind(number), plan.places[number]
        values[f"{kind} outputs"][number] = place.of(seen[f"y_{number}"])
        for index, (name, entries) in enumerate(zip(("weight", "bias"), plan.entries[number], strict=False)):
            values[f"{kind} {name} gradients"][number] = seen[f"gradient_{number}_{index}"][entries]
            if (changed := f"change_{number}_{index}") in seen:
                values[f"{kind} {name} changes"][number] = seen[changed]
        if f"mean_{number}" in seen:
            values["running means"][number] = seen[f"mean_{number}"][place.channels]
            values["running variances"][number] = seen[f"variance_{number}"][place.channels]
    return values


def expected_values(
    plan: Plan, parameters: Sequence[Sequence[Any]], error: np.ndarray, seen: Seen, rate: float | None
) -> Values:
    """The same in float64, given the gradient at the last node, `error`; `parameters` before the step. With a learning
    rate, what the parameters change by as well."""
    values: Values = defaultdict(dict)
    last = len(plan.nodes) - 1
    sums: dict[int, np.ndarray] = {last: plan.places[last].of(error)}
    for number, node in enumerate(plan.nodes[1:], 1):
        kind, reference = plan.kind(number), REFERENCES[type(node.layer)]
        place, g = plan.places[number], seen[f"g_{number}"]
        x, *added = (seen[f"y_{source}"] for source in node.sources)
        learned = [np.asarray(array) for array in parameters[number]]
        given = reference.outputs(node.layer, x, learned, place) + sum(place.of(array) for array in added)
        values[f"{kind} outputs"][number] = _activated(given, node.activation)
        for index, source in enumerate(node.sources):
            if source in plan.with_gradients:
                there = plan.places[source]
                share = there.of(g) if index else reference.share(node.layer, x, g, learned, there)
                sums[source] = sums.get(source, 0.0) + share
        if plan.entries[number]:
            gradients = reference.gradients(node.layer, x, g, plan.entries[number])
            for name, gradient in zip(("weight", "bias"), gradients, strict=False):
                values[f"{kind} {name} gradients"][number] = gradient
                if rate is not None:
                    values[f"{kind} {name} changes"][number] = -rate * gradient
        if isinstance(node.layer, Normalization):
            mean, variance = running_moments(x[:, place.channels])
            values["running means"][number], values["running variances"][number] = mean, variance
    for number in plan.with_gradients:
        slope = _slope(plan.places[number].of(seen[f"y_{number}"]), plan.nodes[number].activation)
        values[f"gradients at {plan.kind(number)} outputs"][number] = sums[number] * slope
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
        if len(plan.entries[number]) > 1:
            of = scales[f"{plan.kind(number)} bias gradients"]
            of[number] = max(of[number], _size_of_sums(seen[f"g_{number}"], plan.entries[number][1]))
        for index, name in enumerate(("weight", "bias")):
            if (before := f"before_{number}_{index}") in seen:
                of = scales[f"{plan.kind(number)} {name} changes"]
                of[number] = max(of[number], SMALL_CHANGE * float(np.abs(seen[before]).max()))
    return scales


def _size_of_sums(g: np.ndarray, channels: tuple[slice, ...]) -> float:
    """How large sums of gradients (B, C, ...) over all but the channels are if signs fall at random. One that cancels
    more, as all do below a normalisation, is no measure of its terms' rounding."""
    chosen = np.moveaxis(g[:, channels[0]], 1, 0)
    squares = np.square(chosen.reshape(len(chosen), -1), dtype=np.float64).sum(1)
    return float(np.sqrt(squares.max()))


def _activated(z: np.ndarray, activation: str) -> Any:
    if activation == "relu":
        return np.maximum(z, 0.0)
    return np.tanh(z) if activation == "tanh" else z


def _slope(y: np.ndarray, activation: str) -> Any:
    """The activation's slope where it gave y."""
    if activation == "relu":
        return y > 0
    return 1 - np.square(y, dtype=np.float64) if activation == "tanh" else 1.0
