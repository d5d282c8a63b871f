"""A deep net whose hidden layers are pretrained one after another, without labels, and then fine-tuned with them.

Hidden layer l of `layers` has weights W_l, biases c_l and a learner that wants nothing but examples: an autoencoder or
an RBM. A mini-batch x comes to it by way of the layers below, whose own pretraining is over:

    a_0 = x    a_l = sigmoid(a_l-1 W_l + c_l)    the learner of layer l learns W_l, c_l and biases below from a_l-1

Fine-tuning is a step of the workload `mlp`, with a softmax layer above, that changes the same W_l and c_l. A step is
timed in parts, one mini-batch each: that of every layer, with the products of the layers below, and that of
fine-tuning.
Source: Hinton, Osindero and Teh, A fast learning algorithm for deep belief nets, 2006; Bengio et al., Greedy layer-wise
training of deep networks, 2007.

The check in float64: pretraining and fine-tuning change the same parameters, one after the other in a step. No copy is
kept in between: what fine-tuning began with is what pretraining began with and its change, which is a product.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from respeed.backends import Array, BackendContract, Step
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, Product, mlp
from respeed.workloads._common import Drawn


class Learner(Protocol):
    """A program that learns one layer. It lets go of its own `weights` and `hidden_bias` for those of the net."""

    weights: Array  # (V, H)
    hidden_bias: Array  # (1, H)

    def train(self, x: Array) -> None:
        """Learn from one mini-batch (B, V)."""

    def state(self) -> Arrays: ...


class Learners(Protocol):
    """The module of a workload: rbm, or autoencoder. Its inputs are `weights`, `biases`, visible then hidden,
    `examples` and `rows`; what its reference says of `weights` is a Product."""

    def build(self, backend: BackendContract, case: Case, inputs: Inputs) -> Learner: ...
    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected: ...
    def flops(self, case: Case) -> float: ...
    def traffic_bytes(self, case: Case) -> float: ...
    def memory_bytes(self, case: Case) -> float: ...


class Pretrained:
    """`captured`: for every mini-batch the parts, since a captured step is bound to its arrays."""

    def __init__(self, learners: Learners, cases: list[Case], backend: BackendContract, case: Case, inputs: Inputs):
        self.backend = backend
        self.net = mlp.Mlp(backend, net_case(case), {**inputs, "examples": [], "labels": []})
        self.learners = []
        for place, of_layer in enumerate(cases):
            learner = learners.build(backend, of_layer, inputs_of(inputs, place, []))
            # What is pretrained is what will be fine-tuned.
            layer = self.net.layers[place]
            learner.weights, learner.hidden_bias = layer.weights, layer.bias
            self.learners.append(learner)
        self.captured = [
            self._capture(backend.array(batch), backend.labels(labels))
            for batch, labels in zip(inputs["examples"], inputs["labels"], strict=True)
        ]
        self.count = 0

    def _capture(self, batch: Array, labels: Array) -> list[Step]:
        pretraining = [partial(self.pretrain, place, batch) for place in range(len(self.learners))]
        return [self.backend.captured(part) for part in (*pretraining, partial(self.net.train, batch, labels))]

    @property
    def parts(self) -> Mapping[str, Callable[[], None]]:
        places = range(len(self.learners))
        return {**{name_of(place): partial(self._run, place) for place in places}, "fine-tuning": self._fine_tune}

    def step(self) -> None:
        for part in self.parts.values():
            part()

    def _run(self, place: int) -> None:
        self.captured[self.count % len(self.captured)][place]()

    def _fine_tune(self) -> None:
        self._run(len(self.learners))
        self.count += 1

    def pretrain(self, place: int, batch: Array) -> None:
        """The learner of a layer learns from one mini-batch, which the layers below hand up."""
        x = batch
        for layer in self.net.layers[:place]:
            self.backend.dense_layer(x, layer.weights, layer.bias, layer.out, activation="sigmoid")
            x = layer.out
        self.learners[place].train(x)

    def state(self) -> Arrays:
        """Those of the net and, each with its layer's name, of the learners."""
        found = dict(self.net.state())
        for place, learner in enumerate(self.learners):
            of_layer = learner.state()
            V = len(of_layer["weights"])
            found[f"visible_bias{place}"] = of_layer["biases"][:V]
            found |= {f"{name_of(place)} {key}": array for key, array in of_layer.items()}
        return found


def inputs(case: Case, seed: int) -> Inputs:
    """As mlp's, and small biases below each layer that is pretrained."""
    random = np.random.Generator(np.random.SFC64([seed, 0]))
    given = dict(mlp.inputs(net_case(case), seed))
    for place in range(int(case.parameters["layers"])):
        V = len(given[f"weights{place}"])
        given[f"visible_bias{place}"] = random.random(V, dtype=np.float32) * np.float32(0.02) - np.float32(0.01)
    return given


def net_case(case: Case) -> Case:
    """What is fine-tuned."""
    given: dict[str, Any] = {name: case.parameters[name] for name in ("inputs", "hidden", "layers", "outputs", "batch")}
    given |= {"learning_rate": case.parameters["fine_tuning_rate"], "weight_decay": 0.0, "activation": "sigmoid"}
    return Case(case.name, "mlp", given)


def layer_cases(case: Case, workload: str, more: Callable[[int], dict[str, float]]) -> list[Case]:
    """What each layer's learner learns, from the lowest on; `more`: the parameters of a place that are its own."""
    given = case.parameters
    sizes = {"hidden": given["hidden"], "batch": given["batch"], "learning_rate": given["pretraining_rate"]}
    below = [given["inputs"], *[given["hidden"]] * (int(given["layers"]) - 1)]
    return [Case(case.name, workload, {**sizes, "visible": V, **more(place)}) for place, V in enumerate(below)]


def part_weights(case: Case) -> Mapping[str, float]:
    """How often each part counts: a step of the table is one mini-batch in every epoch of every part."""
    layers = {name_of(place): case.parameters["pretraining_epochs"] for place in range(int(case.parameters["layers"]))}
    return {**layers, "fine-tuning": case.parameters["fine_tuning_epochs"]}


def flops(learners: Learners, cases: list[Case], case: Case) -> float:
    """Of the learners, of what hands a mini-batch up to each, and of fine-tuning, as often as each part counts."""
    up = [2.0 * case.parameters["batch"] * of.parameters["visible"] * of.parameters["hidden"] for of in cases]
    parts = [learners.flops(of) + sum(up[:place]) for place, of in enumerate(cases)]
    return _weighted(case, [*parts, mlp.flops(net_case(case))])


def traffic_bytes(learners: Learners, cases: list[Case], case: Case) -> float:
    """As `flops`; to hand a mini-batch up, weights and units below are read and units above are written, fp32."""
    B = case.parameters["batch"]
    sizes = [(of.parameters["visible"], of.parameters["hidden"]) for of in cases]
    up = [4.0 * (V * H + B * (V + H)) for V, H in sizes]
    parts = [learners.traffic_bytes(of) + sum(up[:place]) for place, of in enumerate(cases)]
    return _weighted(case, [*parts, mlp.traffic_bytes(net_case(case))])


def memory_bytes(learners: Learners, cases: list[Case], case: Case) -> float:
    """The net's and the learners', each counted as if it had its own weights and mini-batches: at most that."""
    return mlp.memory_bytes(net_case(case)) + sum(learners.memory_bytes(of) for of in cases)


def _weighted(case: Case, parts: list[float]) -> float:
    return sum(weight * part for weight, part in zip(part_weights(case).values(), parts, strict=True))


def inputs_of(inputs: Inputs, place: int, examples: list[Any]) -> Inputs:
    """Of the learner of a layer."""
    biases = np.concatenate([inputs[f"visible_bias{place}"], inputs[f"bias{place}"]])
    return {"weights": inputs[f"weights{place}"], "biases": biases, "examples": examples, "rows": inputs["rows"]}


def name_of(place: int) -> str:
    return f"layer {place + 1}"


def reference(learners: Learners, cases: list[Case], case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    """The first step: each layer's pretraining from what the layers below were seen to hand up, which is checked as the
    net's outputs are; then fine-tuning, of what pretraining had made of the parameters by then."""
    expected: dict[str, Any] = {}
    tuned = dict(inputs)
    for place, of_layer in enumerate(cases):
        name, V = name_of(place), len(inputs[f"weights{place}"])
        x = seen[f"all_out{place - 1}"] if place else inputs["examples"][0]
        of_learner = {key.removeprefix(f"{name} "): array for key, array in seen.items() if key.startswith(f"{name} ")}
        found: dict[str, Any] = dict(learners.reference(of_layer, inputs_of(inputs, place, [x]), of_learner))
        weights, biases = found.pop("weights"), found.pop("biases")
        expected |= {f"{name} {key}": array for key, array in found.items()}
        expected |= {f"visible_bias{place}": biases[:V], f"weights{place}": weights, f"bias{place}": biases[V:]}
        tuned[f"weights{place}"] = _Changed(inputs[f"weights{place}"], weights)
        tuned[f"bias{place}"] = inputs[f"bias{place}"] + biases[V:]
    for key, array in mlp.reference(net_case(case), tuned, seen).items():
        expected[key] = _both(expected[key], array) if key in expected else array
    return expected


@dataclass(frozen=True)
class _Changed:
    """A matrix after a product was added to it, as references multiply by it."""

    before: Drawn
    change: Product

    def times(self, x: np.ndarray) -> np.ndarray:
        left: Any = self.change.left
        out: np.ndarray = self.before.times(x) + self.change.factor * (x @ left) @ self.change.right
        return out

    def transposed_times(self, x: np.ndarray) -> np.ndarray:
        left: Any = self.change.left
        out: np.ndarray = self.before.transposed_times(x) + self.change.factor * (x @ self.change.right.T) @ left.T
        return out


def _both(one: Any, other: Any) -> Any:
    """What two changes of a parameter come to: of products as one, [left, left'] [factor right; factor' right']."""
    if not isinstance(one, Product):
        return one + other
    lefts: list[Any] = [one.left, other.left]
    rights = [change.factor * change.right.astype(np.float64) for change in (one, other)]
    return Product(np.hstack(lefts), np.vstack(rights))
