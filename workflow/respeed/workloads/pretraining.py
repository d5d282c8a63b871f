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
from typing import Any, ClassVar

import numpy as np

from respeed.backends import Array, BackendContract, Step
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, Product, load_workload
from respeed.workloads._common import Drawn, WorkloadClass, small_biases
from respeed.workloads.mlp import Mlp, MlpProgram


def _name_of(place: int) -> str:
    return f"layer {place + 1}"


def _net_case(case: Case) -> Case:
    """What is fine-tuned."""
    given: dict[str, Any] = {name: case.parameters[name] for name in ("inputs", "hidden", "layers", "outputs", "batch")}
    given |= {"learning_rate": case.parameters["fine_tuning_rate"], "weight_decay": 0.0, "activation": "sigmoid"}
    return Case(case.name, "mlp", given)


def _inputs_of(inputs: Inputs, place: int, examples: list[Any]) -> Inputs:
    """Of the learner of a layer."""
    biases = np.concatenate([inputs[f"visible_bias{place}"], inputs[f"bias{place}"]])
    return {"weights": inputs[f"weights{place}"], "biases": biases, "examples": examples, "rows": inputs["rows"]}


class Pretrained:
    """`captured`: for every mini-batch the parts, since a captured step is bound to its arrays."""

    def __init__(self, backend: BackendContract, case: Case, cases: list[Case], inputs: Inputs) -> None:
        """`cases` are those of the layers' learners."""
        self.backend = backend
        self.net = MlpProgram(backend, _net_case(case), {**inputs, "examples": [], "labels": []})
        self.learners: list[Any] = []
        for place, of_layer in enumerate(cases):
            learner: Any = load_workload(of_layer.workload).build(backend, of_layer, _inputs_of(inputs, place, []))
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
        return {**{_name_of(place): partial(self._run, place) for place in places}, "fine-tuning": self._fine_tune}

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
            found |= {f"{_name_of(place)} {key}": array for key, array in of_layer.items()}
        return found


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


class Pretraining(WorkloadClass):
    """`learner`: the workload that a layer's learner is of: "rbm", or "autoencoder". Its inputs are `weights`,
    `biases`, visible then hidden, `examples` and `rows`; what its reference says of `weights` is a Product; and its
    program lets go of its own `weights` (V, H) and `hidden_bias` (1, H) for those of the net."""

    learner: ClassVar[str]

    def layer_cases(self, case: Case) -> list[Case]:
        """What each layer's learner learns, from the lowest on."""
        given = case.parameters
        same = {"hidden": given["hidden"], "batch": given["batch"], "learning_rate": given["pretraining_rate"]}
        below = [given["inputs"], *[given["hidden"]] * (int(given["layers"]) - 1)]
        return [
            Case(case.name, self.learner, {**same, "visible": V, **self.more_of(case, place)})
            for place, V in enumerate(below)
        ]

    def more_of(self, case: Case, place: int) -> Mapping[str, Any]:
        """Parameters of a layer's learner that are its own."""
        return {}

    def build(self, backend: BackendContract, case: Case, inputs: Inputs) -> Pretrained:
        return Pretrained(backend, case, self.layer_cases(case), inputs)

    def inputs(self, case: Case, seed: int) -> Inputs:
        """As mlp's, and small biases below each layer that is pretrained."""
        random = np.random.Generator(np.random.SFC64([seed, 0]))
        given = dict(Mlp().inputs(_net_case(case), seed))
        for place in range(int(case.parameters["layers"])):
            V = len(given[f"weights{place}"])
            given[f"visible_bias{place}"] = small_biases(random, V)
        return given

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        """The first step: each layer's pretraining from what the layers below were seen to hand up, which is checked as
        the net's outputs are; then fine-tuning, of what pretraining had made of the parameters by then."""
        expected: dict[str, Any] = {}
        tuned, learners = dict(inputs), load_workload(self.learner)
        for place, of_layer in enumerate(self.layer_cases(case)):
            name, V = _name_of(place), len(inputs[f"weights{place}"])
            x = seen[f"all_out{place - 1}"] if place else inputs["examples"][0]
            of_learner = {
                key.removeprefix(f"{name} "): array for key, array in seen.items() if key.startswith(f"{name} ")
            }
            found: dict[str, Any] = dict(learners.reference(of_layer, _inputs_of(inputs, place, [x]), of_learner))
            weights, biases = found.pop("weights"), found.pop("biases")
            expected |= {f"{name} {key}": array for key, array in found.items()}
            expected |= {f"visible_bias{place}": biases[:V], f"weights{place}": weights, f"bias{place}": biases[V:]}
            tuned[f"weights{place}"] = _Changed(inputs[f"weights{place}"], weights)
            tuned[f"bias{place}"] = inputs[f"bias{place}"] + biases[V:]
        for key, array in Mlp().reference(_net_case(case), tuned, seen).items():
            expected[key] = _both(expected[key], array) if key in expected else array
        return expected

    def part_weights(self, case: Case) -> Mapping[str, float]:
        """How often each part counts: a step of the table is one mini-batch in every epoch of every part."""
        given = case.parameters
        layers = {_name_of(place): given["pretraining_epochs"] for place in range(int(given["layers"]))}
        return {**layers, "fine-tuning": given["fine_tuning_epochs"]}

    def flops(self, case: Case) -> float:
        """Of the learners, of what hands a mini-batch up to each, and of fine-tuning, as often as each part counts."""
        B = case.parameters["batch"]
        return self._weighted(case, "flops", lambda V, H: 2.0 * B * V * H)

    def traffic_bytes(self, case: Case) -> float:
        """As `flops`; to hand a mini-batch up, weights and units below are read and units above are written, fp32."""
        B = case.parameters["batch"]
        return self._weighted(case, "traffic_bytes", lambda V, H: 4.0 * (V * H + B * (V + H)))

    def _weighted(self, case: Case, what: str, up: Callable[[float, float], float]) -> float:
        """`up`: of handing a mini-batch up by one layer (V, H)."""
        learners, cases = load_workload(self.learner), self.layer_cases(case)
        ups = [up(of.parameters["visible"], of.parameters["hidden"]) for of in cases]
        parts = [getattr(learners, what)(of) + sum(ups[:place]) for place, of in enumerate(cases)]
        parts.append(getattr(Mlp(), what)(_net_case(case)))
        return float(sum(weight * part for weight, part in zip(self.part_weights(case).values(), parts, strict=True)))

    def memory_bytes(self, case: Case) -> float:
        """The net's and the learners', each counted as if it had its own weights and mini-batches: at most that."""
        learners = load_workload(self.learner)
        return Mlp().memory_bytes(_net_case(case)) + sum(map(learners.memory_bytes, self.layer_cases(case)))


class Dbn(Pretraining):
    """A deep belief network: each layer of a deep net is pretrained as an `rbm`, by CD-1, then all are fine-tuned.

    Source: Hinton, Osindero and Teh, A fast learning algorithm for deep belief nets, 2006; that all layers are then
    fine-tuned with labels, as a feed-forward net, follows the Deep Learning Tutorials' DBN.py.
    """

    PARAMETERS: ClassVar = {
        "inputs": "whole", "hidden": "whole", "layers": "whole", "outputs": "whole", "batch": "whole",
        "pretraining_rate": "real", "fine_tuning_rate": "real",
        "pretraining_epochs": "whole", "fine_tuning_epochs": "whole",
    }  # fmt: skip
    TESTS: ClassVar = {
        "smoke": {
            "inputs": 36, "hidden": 24, "layers": 2, "outputs": 10, "batch": 12,
            "pretraining_rate": 0.05, "fine_tuning_rate": 0.1, "pretraining_epochs": 1, "fine_tuning_epochs": 2,
        },
        "odd": {
            "inputs": 37, "hidden": 53, "layers": 3, "outputs": 7, "batch": 29,
            "pretraining_rate": 0.05, "fine_tuning_rate": 0.1, "pretraining_epochs": 2, "fine_tuning_epochs": 3,
        },
        "large": {
            "inputs": 320, "hidden": 320, "layers": 3, "outputs": 10, "batch": 320,
            "pretraining_rate": 0.05, "fine_tuning_rate": 0.1, "pretraining_epochs": 1, "fine_tuning_epochs": 2,
        },
    }  # fmt: skip
    ASKS = ("dense_layer", "activation_backward", "sample_layer", "draws", "labels", "softmax_error")
    learner = "rbm"


class Sda(Pretraining):
    """Stacked denoising autoencoders: each layer of a deep net is pretrained as an `autoencoder`, then all are
    fine-tuned.

    `corruption` is the share of its input that the lowest layer's autoencoder is denied; layer l is denied l times
    that. With the option `cost` each autoencoder computes its cross-entropies too. Source: Vincent et al., Stacked
    denoising autoencoders, 2010; noise that grows from layer to layer follows the Deep Learning Tutorials' SdA.py.
    """

    PARAMETERS: ClassVar = {
        "inputs": "whole", "hidden": "whole", "layers": "whole", "outputs": "whole", "batch": "whole",
        "corruption": "real", "pretraining_rate": "real", "fine_tuning_rate": "real",
        "pretraining_epochs": "whole", "fine_tuning_epochs": "whole",
    }  # fmt: skip
    TESTS: ClassVar = {
        "smoke": {
            "inputs": 36, "hidden": 24, "layers": 2, "outputs": 10, "batch": 12, "corruption": 0.1,
            "pretraining_rate": 0.05, "fine_tuning_rate": 0.1, "pretraining_epochs": 1, "fine_tuning_epochs": 2,
        },
        "odd": {
            "inputs": 37, "hidden": 53, "layers": 3, "outputs": 7, "batch": 29, "corruption": 0.1,
            "pretraining_rate": 0.05, "fine_tuning_rate": 0.1, "pretraining_epochs": 2, "fine_tuning_epochs": 3,
        },
        "large": {
            "inputs": 320, "hidden": 320, "layers": 3, "outputs": 10, "batch": 320, "corruption": 0.1,
            "pretraining_rate": 0.05, "fine_tuning_rate": 0.1, "pretraining_epochs": 1, "fine_tuning_epochs": 2,
        },
    }  # fmt: skip
    OPTIONS: ClassVar = {"cost": ("computed",)}
    ASKS = ("dense_layer", "activation_backward", "mask", "draws", "add", "sigmoid_error", "labels", "softmax_error")
    learner = "autoencoder"

    def more_of(self, case: Case, place: int) -> Mapping[str, Any]:
        more = {"cost": case.parameters["cost"]} if "cost" in case.parameters else {}
        return {"corruption": (place + 1) * case.parameters["corruption"], **more}
