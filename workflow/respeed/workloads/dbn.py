"""A deep belief network: each layer of a deep net is pretrained as an `rbm`, by CD-1, then all are fine-tuned.

Source: Hinton, Osindero and Teh, A fast learning algorithm for deep belief nets, 2006; that all layers are then
fine-tuned with labels, as a feed-forward net, follows the Deep Learning Tutorials' DBN.py.
"""

from collections.abc import Mapping

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, _pretraining, rbm

PARAMETERS = {
    "inputs": "whole", "hidden": "whole", "layers": "whole", "outputs": "whole", "batch": "whole",
    "pretraining_rate": "real", "fine_tuning_rate": "real",
    "pretraining_epochs": "whole", "fine_tuning_epochs": "whole",
}  # fmt: skip
TESTS = {
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


def build(backend: BackendContract, case: Case, inputs: Inputs) -> _pretraining.Pretrained:
    return _pretraining.Pretrained(rbm, _layers(case), backend, case, inputs)


def inputs(case: Case, seed: int) -> Inputs:
    return _pretraining.inputs(case, seed)


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    return _pretraining.reference(rbm, _layers(case), case, inputs, seen)


def part_weights(case: Case) -> Mapping[str, float]:
    return _pretraining.part_weights(case)


def flops(case: Case) -> float:
    return _pretraining.flops(rbm, _layers(case), case)


def traffic_bytes(case: Case) -> float:
    return _pretraining.traffic_bytes(rbm, _layers(case), case)


def memory_bytes(case: Case) -> float:
    return _pretraining.memory_bytes(rbm, _layers(case), case)


def _layers(case: Case) -> list[Case]:
    return _pretraining.layer_cases(case, "rbm", lambda place: {})
