"""What a step of a pretrained net must come to, in float64.

Pretraining and fine-tuning change the same parameters, one after the other in a step. No copy is kept in between: what
fine-tuning began with is what pretraining began with and its change, which is a product.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, Product, mlp
from respeed.workloads._drawn import Drawn
from respeed.workloads._pretraining import Learners, inputs_of, name_of, net_case


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
