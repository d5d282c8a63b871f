"""Deep nets whose hidden layers are pretrained one after another without labels, then fine-tuned with labels.

Hidden layer l has weights W_l, biases b_l (a learner's c) and a learner that needs no labels: an autoencoder or an RBM.
A mini-batch x reaches the learner through the layers below, whose own pretraining is over::

    a_0 = x    a_l = sigmoid(a_l-1 W_l + b_l)    the learner of layer l learns W_l, b_l and visible biases from a_l-1

Fine-tuning is a step of `Mlp`, with a softmax layer above, that changes the same W_l and b_l. A step is timed in parts
of one mini-batch each: one part for each hidden layer, matrix products of the layers below included, and one for
fine-tuning.
Source: Y. Bengio et al., "Greedy layer-wise training of deep networks", 2007.
"""

from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from respeed.model import Names
from respeed.workloads import Arrays, Named, Pairs, Row, Step, Weights, Workload, workload
from respeed.workloads.arrays import double
from respeed.workloads.mlp import Mlp
from respeed.workloads.rbm import Autoencoder, Rbm, RbmUp


@workload
class _Pretraining(Workload):
    """Pretrain by any kind of learner, then fine-tune."""

    inputs: int
    hidden: int
    layers: int
    outputs: int
    batch: int
    pretraining_rate: float
    fine_tuning_rate: float
    pretraining_epochs: int
    fine_tuning_epochs: int

    together = True
    cycled = ("x", "y")

    def learner(self, i: int, **sizes: Any) -> Rbm | Autoencoder:
        """Return the learner of hidden layer `i`, counted from 1."""
        raise NotImplementedError

    @property
    def learners(self) -> list[Rbm | Autoencoder]:
        """Return the learners of all hidden layers, from the lowest up."""
        shared = {"hidden": self.hidden, "batch": self.batch, "learning_rate": self.pretraining_rate}
        visible = [self.inputs, *[self.hidden] * (self.layers - 1)]
        return [self.learner(i, visible=units, **shared) for i, units in enumerate(visible, 1)]

    @property
    def net(self) -> Mlp:
        """Return the net that is fine-tuned."""
        return Mlp(
            inputs=self.inputs, hidden=self.hidden, layers=self.layers, outputs=self.outputs, batch=self.batch,
            learning_rate=self.fine_tuning_rate, weight_decay=0.0, activation="sigmoid",
        )  # fmt: skip

    @property
    def learned(self) -> Names:  # type: ignore[override]
        """Return the names of the net's parameters and of the learners' visible biases."""
        return (*self.net.learned, *(f"b_{i}" for i in range(1, self.layers + 1)))

    def name(self, i: int, name: str) -> str:
        """Return the name in this workload of an array of layer i's learner: the net's name if the net has it too."""
        net = {"W": f"W{i}", "c": f"b{i}", "x": f"out{i - 1}" if i > 1 else "x"}
        return net.get(name, f"{name}_{i}")

    def arrays(self, random: Generator) -> Named:
        """Draw the net's arrays, and the arrays that only the learners have."""
        arrays = self.net.arrays(random)
        for i, learner in enumerate(self.learners, 1):
            arrays = {self.name(i, name): array for name, array in learner.arrays(random).items()} | arrays
        return arrays

    def arrays_of(self, i: int, learner: Workload, a: Arrays) -> Arrays:
        """Return the arrays of the learner of layer `i`, by the learner's own names."""
        return Arrays(**{name: getattr(a, self.name(i, name)) for name in learner.arrays(np.random.default_rng(0))})

    def parts(self) -> Weights:
        """Return each part's weight, its epochs: a step of the table is a mini-batch in all epochs of all parts."""
        pretraining = {f"layer {i}": float(self.pretraining_epochs) for i in range(1, self.layers + 1)}
        return {**pretraining, "fine-tuning": float(self.fine_tuning_epochs)}

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        """Prepare the net: its arrays have its own names."""
        self.net.prepare_torch(a, row)

    prepare_numpy = prepare_torch

    def steps(self, a: Arrays, row: Row) -> dict[str, Step]:
        """Return the parts of a step by name: the pretraining of each layer, then the fine-tuning."""

        def pretrain(i: int, learner: Rbm | Autoencoder, arrays: Arrays) -> None:
            self.net.forward(a, i - 1, row)
            learner.step(arrays, row)

        steps: dict[str, Step] = {}
        for i, learner in enumerate(self.learners, 1):
            arrays = self.arrays_of(i, learner, a)
            learner.prepare_torch(arrays, row)
            steps[f"layer {i}"] = partial(pretrain, i, learner, arrays)
        steps["fine-tuning"] = partial(self.net.step, a, row)
        return steps

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare each layer's pretraining, given the step's outputs of the layers below, and then fine-tuning.

        Pretraining and fine-tuning change the same parameters. The values between the two are the final values less
        fine-tuning's change, which is computed from the step's own outputs and errors; these are checked.
        """
        r = self.fine_tuning_rate / self.batch
        between = Arrays(**vars(given))
        pairs: dict[str, Any] = {}
        x = np.asarray(given.x)
        for i, learner in enumerate(self.learners, 1):
            before = self.arrays_of(i, learner, given)
            before.x = x
            after = self.arrays_of(i, learner, seen)
            error = double(getattr(seen, f"error{i}"))
            after.W = (after.W + r * (x.T @ error)).astype(after.W.dtype)
            after.c = (after.c + r * error.sum(0)).astype(after.c.dtype)
            setattr(between, f"W{i}", after.W)
            setattr(between, f"b{i}", after.c)
            pairs |= {f"layer {i}: {name}": pair for name, pair in learner.check(before, after).items()}
            x = getattr(seen, f"out{i}")
        return {**pairs, **self.net.check(between, seen)}

    def flops(self) -> float:
        """Count the parts' FLOP times their weights: learners, matrix products of the layers below, fine-tuning."""
        return self._weighted("flops")

    def traffic_bytes(self) -> float:
        """Count the parts' bytes times their weights: learners, outputs of the layers below, fine-tuning."""
        return self._weighted("traffic_bytes")

    def _weighted(self, what: str) -> float:
        total = self.fine_tuning_epochs * getattr(self.net, what)()
        below = 0.0
        for learner in self.learners:
            total += self.pretraining_epochs * (getattr(learner, what)() + below)
            below += getattr(RbmUp(visible=learner.visible, hidden=self.hidden, batch=self.batch), what)()
        return float(total)


@workload
class Dbn(_Pretraining):
    """Pretrain each layer of a deep belief network as an `Rbm` by CD-1, then fine-tune all layers with labels.

    Parameters
    ----------
    inputs, hidden, layers, outputs, batch : int
        Numbers of inputs, of units in each hidden layer, of hidden layers, of classes, and of examples in a mini-batch.
    pretraining_rate, fine_tuning_rate : float
        The learning rates of the learners and of the net, each for the gradient's mean over a mini-batch.
    pretraining_epochs, fine_tuning_epochs : int
        The passes over all mini-batches for the pretraining of each layer, and for fine-tuning.

    References
    ----------
    .. [1] G. Hinton, S. Osindero and Y. Teh, "A fast learning algorithm for deep belief nets", 2006.
    .. [2] Deep Learning Tutorials, DBN.py: all layers are fine-tuned with labels, as a feed-forward net.
    """

    def learner(self, i: int, **sizes: Any) -> Rbm:
        """Return the RBM of a layer."""
        return Rbm(**sizes)


@workload
class Sda(_Pretraining):
    """Pretrain each layer of a deep net as a denoising `Autoencoder`, then fine-tune all layers with labels.

    Parameters
    ----------
    corruption : float
        The share of the lowest autoencoder's input that noise sets to 0; in layer l the share is l times as large.
    cost : {"", "computed"}
        Whether each autoencoder also computes its examples' cross-entropies.
    inputs, hidden, layers, outputs, batch, pretraining_rate, fine_tuning_rate, pretraining_epochs, fine_tuning_epochs
        As in `Dbn`.

    References
    ----------
    .. [1] P. Vincent et al., "Stacked denoising autoencoders", 2010.
    .. [2] Deep Learning Tutorials, SdA.py: noise that grows from layer to layer.
    """

    corruption: float
    cost: Literal["", "computed"] = ""

    def learner(self, i: int, **sizes: Any) -> Autoencoder:
        """Return the autoencoder of a layer."""
        return Autoencoder(corruption=i * self.corruption, cost=self.cost, **sizes)
