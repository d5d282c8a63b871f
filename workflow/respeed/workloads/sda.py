"""Stacked denoising autoencoders: each layer of a deep net is pretrained as an `autoencoder`, then all are fine-tuned.

`corruption` is the share of its input that the lowest layer's autoencoder is denied; layer l is denied l times that.
Source: Vincent et al., Stacked denoising autoencoders, 2010; noise that grows from layer to layer follows the Deep
Learning Tutorials' SdA.py.
"""

from collections.abc import Mapping

from respeed.backends import BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, _pretraining, autoencoder

PARAMETERS = {
    "inputs": "whole", "hidden": "whole", "layers": "whole", "outputs": "whole", "batch": "whole",
    "corruption": "real", "pretraining_rate": "real", "fine_tuning_rate": "real",
    "pretraining_epochs": "whole", "fine_tuning_epochs": "whole",
}  # fmt: skip
TESTS = {
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
ASKS = ("dense_layer", "activation_backward", "mask", "draws", "add", "labels", "softmax_error")


def build(backend: BackendContract, case: Case, inputs: Inputs) -> _pretraining.Pretrained:
    return _pretraining.Pretrained(autoencoder, _layers(case), backend, case, inputs)


def inputs(case: Case, seed: int) -> Inputs:
    return _pretraining.inputs(case, seed)


def reference(case: Case, inputs: Inputs, seen: Arrays) -> Expected:
    return _pretraining.reference(autoencoder, _layers(case), case, inputs, seen)


def part_weights(case: Case) -> Mapping[str, float]:
    return _pretraining.part_weights(case)


def flops(case: Case) -> float:
    return _pretraining.flops(autoencoder, _layers(case), case)


def traffic_bytes(case: Case) -> float:
    return _pretraining.traffic_bytes(autoencoder, _layers(case), case)


def memory_bytes(case: Case) -> float:
    return _pretraining.memory_bytes(autoencoder, _layers(case), case)


def _layers(case: Case) -> list[Case]:
    corruption = case.parameters["corruption"]
    return _pretraining.layer_cases(case, "autoencoder", lambda place: {"corruption": (place + 1) * corruption})
