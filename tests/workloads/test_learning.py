"""What learns, learns: what is left to explain of digits falls over steps."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from respeed.backends import make_backend
from respeed.model.paper import Case
from respeed.workloads import make_workload

LAYER = {"visible": 64, "hidden": 64, "batch": 50, "learning_rate": 0.1}
NET = {"inputs": 64, "outputs": 10, "batch": 50}
DBN = {"pretraining_epochs": 1, "fine_tuning_epochs": 1, "pretraining_rate": 0.1, "fine_tuning_rate": 0.3}
LEARNING: dict[str, dict[str, Any]] = {
    "rbm": LAYER,
    "rbm_pcd": {**LAYER, "gibbs": 2, "learning_rate": 0.05},
    "autoencoder": {**LAYER, "corruption": 0.3, "cost": "read"},
    "mlp": {**NET, "hidden": 50, "layers": 1, "learning_rate": 0.1, "weight_decay": 0.0, "activation": "tanh"},
    "dbn": {**NET, "hidden": 64, "layers": 2, **DBN},
}


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.parametrize("name", LEARNING)
def test_what_is_left_to_explain_of_digits_falls_over_steps(name: str, backend: str) -> None:
    row = make_backend(backend, device="cpu", precision="fp32", threads=1, seed=1)
    program = row.build(make_workload(Case("digits", name, LEARNING[name])), seed=1)
    pictures, labels = load_digits(return_X_y=True)
    row.write((pictures[:200] / 16).astype(np.float32).reshape(4, 50, 64), program.arrays.x)
    if hasattr(program.arrays, "y"):
        row.write(labels[:200].reshape(4, 50, 1), program.arrays.y)

    def left() -> float:
        """Return the mean cost, or else the mean square of what is not given back of the examples."""
        if hasattr(program.arrays, "costs"):
            return float(row.host(program.arrays.costs).mean())
        v = row.host(program.arrays.v)
        return float(((v[:50] - v[50:]) ** 2).mean())

    program.step()
    before = left()
    for _ in range(200):
        program.step()
    assert left() < 0.6 * before
