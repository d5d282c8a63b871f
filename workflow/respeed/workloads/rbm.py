"""Layers that learn without labels: restricted Boltzmann machines, binary, by contrastive divergence, of chains that
persist or of examples that are streamed, and what a trained one hands up; and a denoising autoencoder.

V, H and B are the visible units, the hidden units, and the examples of a mini-batch.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from respeed.backends import Array, BackendContract, Draws, Step
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, Product
from respeed.workloads._common import Drawn, MiniBatches, WorkloadClass, checked_rows, sigmoid, sizes, small_biases

PARAMETERS = {"visible": "whole", "hidden": "whole", "batch": "whole", "learning_rate": "real"}
TESTS = {
    "smoke": {"visible": 16, "hidden": 24, "batch": 8, "learning_rate": 0.05},
    "odd": {"visible": 37, "hidden": 53, "batch": 29, "learning_rate": 0.05},
    "large": {"visible": 320, "hidden": 320, "batch": 320, "learning_rate": 0.05},
}

# Mini-batches that are cycled through, so that a step does not begin with the examples that the last one used.
BATCHES = 4
# Mini-batches of a chunk, and chunks that are cycled through: an odd number, so that each comes to both places.
CHUNK, CHUNKS = 8, 3


def _sizes(case: Case) -> tuple[int, ...]:
    return sizes(case, "visible", "hidden", "batch")


class LayerProgram(MiniBatches):
    """A layer that learns. What the two phases, or the two places of the weights, multiply lies in one array each, so
    that one product makes the gradient."""

    draws: Draws

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        V, H, B = _sizes(case)
        self.backend = backend
        self.rate, self.rows = case.parameters["learning_rate"] / B, inputs["rows"]
        self.weights = backend.parameters(inputs["weights"])  # (V, H)
        self.visible_bias = backend.parameters(inputs["biases"][None, :V])  # (1, V)
        self.hidden_bias = backend.parameters(inputs["biases"][None, V:])  # (1, H)
        self.visible = backend.zeros(2 * B, V)
        self.hidden = backend.zeros(2 * B, H)

    def capture(self, examples: Sequence[Any]) -> list[Step]:
        """A step for each of the mini-batches, BATCHES x (B, V), which lie on the device from now on."""
        return [self.backend.captured(partial(self.train, self.backend.array(batch))) for batch in examples]

    def train(self, batch: Array) -> None:
        """Learn from one mini-batch (B, V)."""
        raise NotImplementedError

    def state(self) -> Arrays:
        host = self.backend.host
        return {
            "weights": host(self.weights),
            "biases": np.concatenate([host(self.visible_bias)[0], host(self.hidden_bias)[0]]),
            "uniform": self.draws.last(self.rows),
            "visible": host(self.visible),
            "hidden": host(self.hidden),
        }


class RbmProgram(LayerProgram):
    """`visible` is [v0; v1] and `hidden` [h0; -h1]."""

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        super().__init__(backend, case, inputs)
        _, H, B = _sizes(case)
        self.v0, self.v1 = self.visible[:B], self.visible[B:]
        self.h0, self.h1 = self.hidden[:B], self.hidden[B:]
        self.sample = self.h1  # until h1 is there: an array less in memory, and in the caches
        self.draws = backend.draws(B, H)
        self.ones = backend.array(np.ones((1, 2 * B)))
        self.signs = backend.array(np.repeat([1.0, -1.0], B)[None, :])  # (1, 2B)
        self.captured = self.capture(inputs["examples"])

    def train(self, batch: Array) -> None:
        """Learn from one mini-batch (B, V)."""
        backend = self.backend
        backend.copy(batch, self.v0)
        backend.sample_layer(self.v0, self.weights, self.hidden_bias, self.h0, self.sample, self.draws)
        sample, weights = self.sample, self.weights
        backend.dense_layer(sample, weights, self.visible_bias, self.v1, activation="sigmoid", transpose=True)
        backend.dense_layer(self.v1, weights, self.hidden_bias, self.h1, activation="sigmoid", scale=-1.0)
        self.change()

    def change(self) -> None:
        """The parameters by the statistics of both phases."""
        backend = self.backend
        backend.gemm(self.visible, self.hidden, self.weights, transpose_a=True, alpha=self.rate, beta=1.0)
        backend.gemm(self.signs, self.visible, self.visible_bias, alpha=self.rate, beta=1.0)
        backend.gemm(self.ones, self.hidden, self.hidden_bias, alpha=self.rate, beta=1.0)

    def state(self) -> Arrays:
        found, B, rows = dict(super().state()), len(self.v0), self.rows
        hidden = found["hidden"]
        return found | {"h0": hidden[rows], "v1": found["visible"][B + rows], "h1": hidden[B + rows]}


class LayerWorkload(WorkloadClass):
    def half(self, case: Case) -> float:
        """Of the interval that the weights are drawn from, around 0."""
        raise NotImplementedError

    def inputs(self, case: Case, seed: int) -> Inputs:
        """Weights in +-half; examples uniform in [0, 1), as pixel intensities are; small biases, visible then hidden;
        `rows`: the examples that are checked."""
        (V, H, B), half = _sizes(case), self.half(case)
        return {
            "weights": Drawn((V, H), -half, half, seed),
            "biases": small_biases(np.random.Generator(np.random.SFC64(seed)), V + H),
            "examples": Drawn((BATCHES, B, V), 0.0, 1.0, [seed, 1]),
            "rows": checked_rows(B, seed),
        }

    def flops(self, case: Case) -> float:
        """Five products, 10 B V H; the elementwise work is not counted, as in the paper's arithmetic."""
        V, H, B = _sizes(case)
        return 10.0 * B * V * H


class Rbm(LayerWorkload):
    """A binary restricted Boltzmann machine trained by contrastive divergence with one Gibbs step (CD-1).

    For a mini-batch v0 of B examples, weights W (V, H), visible bias b (V,), hidden bias c (H,), learning rate r:

        h0 = sigmoid(v0 W + c)         s ~ Bernoulli(h0)
        v1 = sigmoid(s W^T + b)        h1 = sigmoid(v1 W + c)
        W += r/B (v0^T h0 - v1^T h1)   b += r/B sum(v0 - v1)   c += r/B sum(h0 - h1)

    Five products of 2 B V H FLOP. The two of the gradient are one product over 2 B rows, [v0; v1]^T [h0; -h1], added
    into W by the product itself (beta = 1), so that W is read and written once.
    Source: Hinton, Training products of experts by minimizing contrastive divergence, 2002; what is sampled and what is
    a probability follows Hinton's practical guide, 2010, section 3."""

    ASKS: tuple[str, ...] = ("dense_layer", "sample_layer", "draws")

    program = RbmProgram

    def half(self, case: Case) -> float:
        """Of a standard deviation of 0.01."""
        return float(0.01 * 3**0.5)

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        """The first step in float64 for the checked examples, on the backend's own draws; what it changed in the
        weights and biases from the activations of all examples, as they were seen."""
        V, _, _ = _sizes(case)
        rows, W = inputs["rows"], inputs["weights"]
        v0 = np.asarray(inputs["examples"][0])[rows].astype(np.float64)
        b, c = np.split(inputs["biases"].astype(np.float64), [V])
        h0 = sigmoid(W.times(v0) + c)
        # By the program's own h0, which is checked: a draw between the two falls on either side, whatever the
        # precision.
        sample = (seen["uniform"] < seen["h0"]).astype(np.float64)
        v1 = sigmoid(W.transposed_times(sample) + b)
        return {"h0": h0, "v1": v1, "h1": -sigmoid(W.times(v1) + c), **self.changes(case, seen)}

    def changes(self, case: Case, seen: Arrays) -> Expected:
        """What a step changes in the parameters, by the activations of both phases as they were seen."""
        _, _, B = _sizes(case)
        rate, visible, hidden = case.parameters["learning_rate"] / B, seen["visible"], seen["hidden"]
        change = visible[:B].sum(axis=0, dtype=np.float64) - visible[B:].sum(axis=0, dtype=np.float64)
        return {
            "weights": Product(visible.T, hidden, rate),
            # One vector: what the hidden biases change by cancels almost wholly, and is no scale for their rounding.
            "biases": rate * np.concatenate([change, hidden.sum(axis=0, dtype=np.float64)]),
        }

    def traffic_bytes(self, case: Case) -> float:
        """W read by four products and written by one; each activation written once and read by what uses it, fp32."""
        V, H, B = _sizes(case)
        return 4.0 * (5 * V * H + B * (2 * 3 * V + 4 * 3 * H))

    def memory_bytes(self, case: Case) -> float:
        """Weights, the mini-batches, and the two-phase buffers, fp32."""
        V, H, B = _sizes(case)
        return 4.0 * (V * H + BATCHES * B * V + 2 * B * V + 3 * B * H)


class PcdProgram(RbmProgram):
    """`visible` is [v0; v] and `hidden` [h0; -h]. The chains lie apart from the samples on the way to their next state:
    so what the last Gibbs step began with is still there after it, to be checked."""

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        V, H, B = _sizes(case)
        self.gibbs = int(case.parameters["gibbs"])
        self.chains = backend.array(inputs["chains"])  # (B, H)
        self.on_the_way = backend.zeros(B, H)
        self.mean = backend.zeros(B, V)  # of v
        self.visible_draws = backend.draws(B, V)
        self.taken = 0  # Gibbs steps that the last call of `train` asked for
        super().__init__(backend, case, inputs)

    def train(self, batch: Array) -> None:
        """Learn from one mini-batch (B, V)."""
        backend, last = self.backend, self.gibbs - 1
        backend.copy(batch, self.v0)
        backend.dense_layer(self.v0, self.weights, self.hidden_bias, self.h0, activation="sigmoid")
        self.taken = 0
        for step in range(self.gibbs):
            self.taken += 1
            begin = self.chains if step == 0 else self.on_the_way
            end, scale = (self.chains, -1.0) if step == last else (self.on_the_way, 1.0)
            backend.sample_layer(
                begin, self.weights, self.visible_bias, self.mean, self.v1, self.visible_draws, transpose=True
            )
            backend.sample_layer(self.v1, self.weights, self.hidden_bias, self.h1, end, self.draws, scale=scale)
        self.change()

    def state(self) -> Arrays:
        rows, host = self.rows, self.backend.host
        found = dict(super().state())
        return found | {
            "gibbs_steps": np.array([self.taken]),
            "mean": host(self.mean)[rows],
            "samples": host(self.chains)[rows],
            "on_the_way": host(self.on_the_way)[rows],
            "visible_uniform": self.visible_draws.last(rows),
        }


class RbmPcd(Rbm):
    """A binary restricted Boltzmann machine trained by persistent contrastive divergence (PCD-k).

    For a mini-batch v0 of B examples, weights W (V, H), visible bias b (V,), hidden bias c (H,), learning rate r, and B
    chains whose hidden units s persist from one step to the next:

        h0 = sigmoid(v0 W + c)
        k times:  v ~ Bernoulli(sigmoid(s W^T + b))    h = sigmoid(v W + c)    s ~ Bernoulli(h)
        W += r/B (v0^T h0 - v^T h)   b += r/B sum(v0 - v)   c += r/B sum(h0 - h)

    1 + 2 k products of 2 B V H FLOP, and the two of the gradient as one, as in `rbm`, whose arrays and gradient these
    are. Source: Tieleman, Training restricted Boltzmann machines using approximations to the likelihood gradient, 2008;
    what is sampled and what is a probability follows the Deep Learning Tutorials' rbm.py."""

    PARAMETERS: ClassVar = {
        "visible": "whole", "hidden": "whole", "batch": "whole", "gibbs": "whole", "learning_rate": "real",
    }  # fmt: skip
    TESTS: ClassVar = {
        "smoke": {"visible": 36, "hidden": 16, "batch": 8, "gibbs": 3, "learning_rate": 0.05},
        "odd": {"visible": 37, "hidden": 53, "batch": 29, "gibbs": 1, "learning_rate": 0.05},
        "large": {"visible": 320, "hidden": 320, "batch": 320, "gibbs": 2, "learning_rate": 0.05},
    }
    ASKS = ("dense_layer", "sample_layer", "draws")

    program = PcdProgram

    def inputs(self, case: Case, seed: int) -> Inputs:
        """As rbm's; `chains`: hidden units that are 0 or 1 as often."""
        _, H, B = _sizes(case)
        random = np.random.Generator(np.random.SFC64([seed, 2]))
        return {**super().inputs(case, seed), "chains": random.integers(0, 2, (B, H)).astype(np.float32)}

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        """The first step in float64 for the checked examples: the positive phase, and of the Gibbs steps the last one,
        each half by the program's own samples before it; what the step changed in the parameters as rbm's.

        To repeat all k would cost as much as the step, and show less: where one sample falls on the other side, the
        chains part.
        """
        V, gibbs = sizes(case, "visible", "gibbs")
        W, rows = inputs["weights"], inputs["rows"]
        b, c = np.split(inputs["biases"].astype(np.float64), [V])
        v0 = np.asarray(inputs["examples"][0])[rows].astype(np.float64)
        begin = inputs["chains"][rows] if gibbs == 1 else seen["on_the_way"]
        v = (seen["visible_uniform"] < seen["mean"]).astype(np.float64)
        return {
            **self.changes(case, seen),
            "gibbs_steps": np.array([gibbs]),
            "h0": sigmoid(W.times(v0) + c),
            "mean": sigmoid(W.transposed_times(begin.astype(np.float64)) + b),
            "v1": v,
            "h1": -sigmoid(W.times(v) + c),
            "samples": (seen["uniform"] < -seen["h1"]).astype(np.float64),
        }

    def flops(self, case: Case) -> float:
        """1 + 2 k products and the two of the gradient; drawing is not counted."""
        V, H, B, gibbs = *_sizes(case), int(case.parameters["gibbs"])
        return 2.0 * (3 + 2 * gibbs) * B * V * H

    def traffic_bytes(self, case: Case) -> float:
        """W read by every product and written by one; of each Gibbs step both layers' probabilities and samples
        written, and the samples read, fp32."""
        V, H, B, gibbs = *_sizes(case), int(case.parameters["gibbs"])
        return 4.0 * ((3 + 2 * gibbs) * V * H + B * (4 * V + 4 * H + gibbs * 3 * (V + H)))

    def memory_bytes(self, case: Case) -> float:
        """As rbm's, and the chains twice, the mean of v and its draws, fp32."""
        V, H, B = _sizes(case)
        return super().memory_bytes(case) + 4.0 * B * (2 * H + 2 * V)


class StreamedProgram(RbmProgram):
    def capture(self, examples: Sequence[Any]) -> list[Step]:
        """A step for each mini-batch of the two chunks on the device; examples (CHUNKS, CHUNK, B, V)."""
        self.stream = self.backend.stream(list(examples))
        chunks = self.stream.arrays
        return [self.backend.captured(partial(self.train, batch)) for chunk in chunks for batch in chunk]

    def step(self) -> None:
        place = self.count % CHUNK
        if place == 0:
            self.chunk = self.stream.advance()
        self.captured[self.chunk * CHUNK + place]()
        self.count += 1


class RbmStreamed(Rbm):
    """The RBM of `rbm` on examples that do not lie on the device: they come from the host in chunks of mini-batches.

    As in the paper, examples are copied in large chunks and parameters stay where they are. Of two chunks on the device
    the one is learned from while the other is filled: a step waits for a copy only where copying takes longer than
    learning."""

    ASKS = ("dense_layer", "sample_layer", "draws", "stream")

    program = StreamedProgram

    def inputs(self, case: Case, seed: int) -> Inputs:
        """As rbm's, but examples in chunks, (CHUNKS, CHUNK, B, V)."""
        V, _, B = _sizes(case)
        return {**super().inputs(case, seed), "examples": Drawn((CHUNKS, CHUNK, B, V), 0.0, 1.0, [seed, 1])}

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        return super().reference(case, {**inputs, "examples": inputs["examples"][0]}, seen)

    def traffic_bytes(self, case: Case) -> float:
        """As rbm's, and the mini-batch written where it is copied to."""
        return super().traffic_bytes(case) + _batch_bytes(case)

    def memory_bytes(self, case: Case) -> float:
        """As rbm's, but for the mini-batches: two chunks on the device."""
        return super().memory_bytes(case) + (2 * CHUNK - BATCHES) * _batch_bytes(case)


def _batch_bytes(case: Case) -> float:
    V, _, B = _sizes(case)
    return 4.0 * B * V


class AutoencoderProgram(LayerProgram):
    """`visible` is [x~; d] and `hidden` [e; y]."""

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        super().__init__(backend, case, inputs)
        V, _, B = _sizes(case)
        self.corruption = case.parameters["corruption"]
        self.cost, self.costs = case.parameters.get("cost"), backend.zeros(B, 1)
        self.reads = self.cost == "read"
        self.corrupted, self.missed = self.visible[:B], self.visible[B:]
        self.error, self.code = self.hidden[:B], self.hidden[B:]
        self.draws = backend.draws(B, V)
        self.ones = backend.array(np.ones((1, B)))
        self.captured = self.capture(inputs["examples"])

    def train(self, batch: Array) -> None:
        """Learn from one mini-batch (B, V)."""
        backend, weights, x = self.backend, self.weights, batch
        backend.mask(x, self.corruption, self.corrupted, self.draws)
        backend.dense_layer(self.corrupted, weights, self.hidden_bias, self.code, activation="sigmoid")
        decode = partial(backend.dense_layer, self.code, weights, self.visible_bias, self.missed, transpose=True)
        if self.cost:
            decode(activation="none")
            backend.sigmoid_error(x, self.missed, self.costs)
        else:
            decode(activation="sigmoid", scale=-1.0)
            backend.add(x, self.missed)
        backend.gemm(self.missed, weights, self.error)
        backend.activation_backward(self.code, self.error, activation="sigmoid")
        backend.gemm(self.visible, self.hidden, weights, transpose_a=True, alpha=self.rate, beta=1.0)
        backend.gemm(self.ones, self.error, self.hidden_bias, alpha=self.rate, beta=1.0)
        backend.gemm(self.ones, self.missed, self.visible_bias, alpha=self.rate, beta=1.0)

    def state(self) -> Arrays:
        found, B, rows = dict(super().state()), len(self.code), self.rows
        visible, hidden = found["visible"], found["hidden"]
        return found | {
            "corrupted": visible[rows],
            "missed": visible[B + rows],
            "code": hidden[B + rows],
            "error": hidden[rows],
            "costs": self.backend.host(self.costs)[rows],
        }


class Autoencoder(LayerWorkload):
    """A denoising autoencoder with tied weights, trained by stochastic gradient descent on the cross-entropy.

    For a mini-batch x of B examples, weights W (V, H), hidden bias b (H,), visible bias c (V,), learning rate r, and
    the share p of each example's elements that noise sets to 0:

        x~ = x, or 0 with probability p    y = sigmoid(x~ W + b)    z = sigmoid(y W^T + c)
        d = x - z                          e = (d W) y (1 - y)
        W += r/B (x~^T e + d^T y)          b += r/B sum(e)          c += r/B sum(d)

    -d is the gradient of the cross-entropy before the sigmoid of z, -e that before the sigmoid of y. Five products of
    2 B V H FLOP. The two of the gradient, one for each place of the tied W, are one product over 2 B rows,
    [x~; d]^T [e; y], added into W by the product itself (beta = 1), so that W is read and written once.
    With the option `cost` a step gives, for each example, the cross-entropy -sum(x log z + (1 - x) log(1 - z)) as well,
    which learning does not need: "computed" on the device, or "read" by the host, which waits for it.
    Source: Vincent et al., Extracting and composing robust features with denoising autoencoders, 2008.
    """

    PARAMETERS: ClassVar = {
        "visible": "whole", "hidden": "whole", "batch": "whole", "corruption": "real", "learning_rate": "real",
    }  # fmt: skip
    TESTS: ClassVar = {
        "smoke": {"visible": 36, "hidden": 16, "batch": 8, "corruption": 0.3, "learning_rate": 0.1},
        "odd": {"visible": 37, "hidden": 53, "batch": 29, "corruption": 0.0, "learning_rate": 0.1},
        "large": {"visible": 320, "hidden": 320, "batch": 320, "corruption": 0.3, "learning_rate": 0.1},
    }
    OPTIONS: ClassVar = {"cost": ("computed", "read")}
    ASKS = ("dense_layer", "activation_backward", "mask", "draws", "add", "sigmoid_error")
    program = AutoencoderProgram

    def half(self, case: Case) -> float:
        """As is usual for sigmoids."""
        V, H, _ = _sizes(case)
        return float(4 * (6.0 / (V + H)) ** 0.5)

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        """The first step in float64 for the checked examples, on the backend's own draws; what it changed in the
        weights and biases from what all examples left, as it was seen."""
        V, _, B = _sizes(case)
        c, b = np.split(inputs["biases"].astype(np.float64), [V])
        rate, W = case.parameters["learning_rate"] / B, inputs["weights"]
        x = np.asarray(inputs["examples"][0])[inputs["rows"]].astype(np.float64)
        corrupted = np.where(seen["uniform"] < case.parameters["corruption"], 0.0, x)
        y = sigmoid(W.times(corrupted) + b)
        z = W.transposed_times(y) + c
        d, costs = x - sigmoid(z), (np.logaddexp(0, z) - x * z).sum(axis=1, keepdims=True)
        visible, hidden = seen["visible"], seen["hidden"]
        return {
            "corrupted": corrupted,
            "code": y,
            "missed": d,
            "error": W.times(d) * y * (1 - y),
            **({"costs": costs} if "cost" in case.parameters else {}),
            "weights": Product(visible.T, hidden, rate),
            "biases": rate
            * np.concatenate([array.sum(axis=0, dtype=np.float64) for array in (visible[B:], hidden[:B])]),
        }

    def traffic_bytes(self, case: Case) -> float:
        """W read by four products and written by one; x read twice, x~, d and e written and read twice or once, y
        written and read three times, fp32."""
        V, H, B = _sizes(case)
        return 4.0 * (5 * V * H + B * (8 * V + 6 * H))

    def memory_bytes(self, case: Case) -> float:
        """Weights, the mini-batches, the four arrays of activations and errors, and the draws, fp32."""
        V, H, B = _sizes(case)
        return 4.0 * (V * H + BATCHES * B * V + B * (3 * V + 2 * H))


class _Up:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        self.backend, self.rows = backend, inputs["rows"]
        self.visible = backend.array(inputs["visible"])  # (B, V)
        self.weights = backend.parameters(inputs["weights"])  # (V, H)
        self.bias = backend.parameters(inputs["bias"])  # (1, H)
        self.hidden = backend.zeros(len(inputs["visible"]), inputs["weights"].shape[1])  # (B, H)
        self.step = backend.captured(self._up)

    def _up(self) -> None:
        self.backend.dense_layer(self.visible, self.weights, self.bias, self.hidden, activation="sigmoid")

    def state(self) -> Arrays:
        return {"hidden": self.backend.host(self.hidden)[self.rows]}


class RbmUp(WorkloadClass):
    """Hidden probabilities of a mini-batch: what a trained layer of a deep belief network hands to the next.

    h = sigmoid(v W + c)        v (B, V), W (V, H), c (H,)"""

    PARAMETERS: ClassVar = {"visible": "whole", "hidden": "whole", "batch": "whole"}
    TESTS: ClassVar = {
        "smoke": {"visible": 16, "hidden": 24, "batch": 8},
        "odd": {"visible": 37, "hidden": 53, "batch": 29},
        "large": {"visible": 320, "hidden": 320, "batch": 320},
    }
    ASKS = ("dense_layer",)

    program = _Up

    def inputs(self, case: Case, seed: int) -> Inputs:
        """Examples uniform in [0, 1), weights in +-1.5 sqrt(3 / V), which leaves no unit saturated, and biases
        in +-0.01; `rows`: the examples that are checked."""
        V, H, B = _sizes(case)
        random, half = np.random.Generator(np.random.SFC64(seed)), 1.5 * (3.0 / V) ** 0.5
        return {
            "visible": random.random((B, V), dtype=np.float32),
            "weights": Drawn((V, H), -half, half, seed),
            "bias": small_biases(random, 1, H),
            "rows": checked_rows(B, seed),
        }

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        rows = inputs["rows"]
        z = inputs["weights"].times(inputs["visible"][rows].astype(np.float64))
        return {"hidden": sigmoid(z + inputs["bias"])}

    def flops(self, case: Case) -> float:
        """One product, 2 B V H."""
        V, H, B = _sizes(case)
        return 2.0 * B * V * H

    def traffic_bytes(self, case: Case) -> float:
        """Examples, weights and biases read, hidden units written, fp32."""
        V, H, B = _sizes(case)
        return 4.0 * (V * H + B * V + B * H)

    def memory_bytes(self, case: Case) -> float:
        return self.traffic_bytes(case)
