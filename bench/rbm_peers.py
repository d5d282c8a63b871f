"""A training step of a binary RBM as others write it, over ours (workloads/rbm.py). Run by bench/peers.py.

The naive steps do the same arithmetic as ours, fp32, one CD-1 update by a mini-batch: hidden units are sampled for the
reconstruction, all else are probabilities. They are written as a tutorial would: every intermediate result is a new
array, the two gradients are products of their own. scikit-learn's BernoulliRBM has the same five products but another
rule, persistent contrastive divergence. All run in the environment of a measurement, whose allocator keeps freed
memory: outside it, new arrays cost more than here.
"""

from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np
import torch
from paired import Step, paired_ratio

from respeed.backends import make_backend
from respeed.inputs.papers import load_paper
from respeed.model.paper import Case
from respeed.workloads import Arrays
from respeed.workloads.rbm import Rbm

# A comparison that would take longer has fewer pairs, and says so.
MOST_SECONDS = 30.0

SCIKIT_LEARN = """\
  scikit-learn's BernoulliRBM samples visible and hidden units, two samplings to our one: its negative phase goes on
  from the hidden sample of the step before (persistent CD, one Gibbs step). partial_fit computes in float64 whatever it
  is given; the mini-batch of its fit, a private method, in float32 if the examples are."""


class NaiveTorch:
    """CD-1 in PyTorch as a tutorial writes it. `sample` draws 0 or 1 with the probabilities that it is given."""

    def __init__(self, case: Case, inputs: Arrays, sample: Callable[[torch.Tensor], torch.Tensor] = torch.bernoulli):
        self.rate, self.sample = case.parameters["learning_rate"], sample
        self.examples = cycle(torch.from_numpy(np.asarray(inputs["examples"])))  # (B, V) each
        self.W = torch.from_numpy(np.array(inputs["weights"]))  # (V, H)
        self.b, self.c = (torch.tensor(part) for part in _split_biases(inputs))

    def step(self) -> None:
        v0 = next(self.examples)
        h0 = torch.sigmoid(v0 @ self.W + self.c)
        s = self.sample(h0)
        v1 = torch.sigmoid(s @ self.W.t() + self.b)
        h1 = torch.sigmoid(v1 @ self.W + self.c)
        self.W += self.rate * (v0.t() @ h0 - v1.t() @ h1) / len(v0)
        self.b += self.rate * (v0 - v1).mean(dim=0)
        self.c += self.rate * (h0 - h1).mean(dim=0)


class NaiveNumPy:
    """The same in NumPy."""

    def __init__(self, case: Case, inputs: Arrays, sample: Callable[[np.ndarray], np.ndarray] | None = None):
        self.rate = case.parameters["learning_rate"]
        self.sample = sample or _bernoulli(np.random.default_rng(1))
        self.examples = cycle(np.asarray(inputs["examples"]))  # (B, V) each
        self.W = np.array(inputs["weights"])  # (V, H)
        self.b, self.c = (part.copy() for part in _split_biases(inputs))

    def step(self) -> None:
        v0 = next(self.examples)
        h0 = _sigmoid(v0 @ self.W + self.c)
        s = self.sample(h0)
        v1 = _sigmoid(s @ self.W.T + self.b)
        h1 = _sigmoid(v1 @ self.W + self.c)
        self.W += self.rate * (v0.T @ h0 - v1.T @ h1) / len(v0)
        self.b += self.rate * (v0 - v1).mean(axis=0)
        self.c += self.rate * (h0 - h1).mean(axis=0)


def compare_rbm(threads: int) -> None:
    """Every peer's time over that of our step on the library nearest to it, at each size of the paper's table."""
    print(SCIKIT_LEARN, flush=True)
    for case in load_paper("raina2009").experiments["rbm"].cases:
        print(f"  {case.name}, {threads} threads", flush=True)
        inputs = Rbm().inputs(case, 1)
        ours = {name: _our_step(name, case, inputs, threads) for name in ("torch", "openblas")}
        # One after another, so that the arrays of one alone lie beside ours.
        for name, library, peer in PEERS:
            ratio = paired_ratio(peer(case, inputs), ours[library], most_seconds=MOST_SECONDS)
            print(f"    {name:<37} {ratio} times as long as ours on {library}", flush=True)


def _our_step(name: str, case: Case, inputs: Arrays, threads: int) -> Step:
    backend = make_backend(name, device="cpu", precision="fp32", threads=threads, seed=1)
    return Rbm().build(backend, case, inputs).step


def _partial_fit(case: Case, inputs: Arrays) -> Step:
    model, examples = _scikit_learn(case, inputs, np.float64), cycle(np.asarray(inputs["examples"]))
    return lambda: model.partial_fit(next(examples))


def _fit(case: Case, inputs: Arrays) -> Step:
    model, examples = _scikit_learn(case, inputs, np.float32), cycle(np.asarray(inputs["examples"]))
    return lambda: model._fit(next(examples), model.random_state_)


def _scikit_learn(case: Case, inputs: Arrays, precision: type[np.floating]) -> Any:
    """A BernoulliRBM with our parameters, as its first step would have left it; its weights are (H, V), in columns."""
    from sklearn.neural_network import BernoulliRBM

    H, B = int(case.parameters["hidden"]), int(case.parameters["batch"])
    model = BernoulliRBM(H, learning_rate=case.parameters["learning_rate"], batch_size=B, random_state=1)
    model.partial_fit(np.asarray(inputs["examples"][0]))
    visible, hidden = _split_biases(inputs)
    model.components_ = np.array(np.asarray(inputs["weights"]).T, dtype=precision, order="F")
    model.intercept_visible_, model.intercept_hidden_ = visible.astype(precision), hidden.astype(precision)
    model.h_samples_ = np.zeros((B, H), precision)
    return model


def _bernoulli(random: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    return lambda p: (random.random(p.shape, dtype=np.float32) < p).astype(np.float32)


def _sigmoid(z: np.ndarray) -> np.ndarray:
    out: np.ndarray = 1 / (1 + np.exp(-z))
    return out


def _split_biases(inputs: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Of the visible and of the hidden units."""
    visible, hidden = np.split(inputs["biases"], [inputs["weights"].shape[0]])
    return visible, hidden


# Name, our backend on the library that it uses too, and what makes its step.
PEERS: tuple[tuple[str, str, Callable[[Case, Arrays], Step]], ...] = (
    ("PyTorch as in a tutorial", "torch", lambda case, inputs: NaiveTorch(case, inputs).step),
    ("NumPy as in a tutorial", "openblas", lambda case, inputs: NaiveNumPy(case, inputs).step),
    ("scikit-learn, fp32 mini-batch of fit", "openblas", _fit),
    ("scikit-learn, partial_fit in float64", "openblas", _partial_fit),
)
