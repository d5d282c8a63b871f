"""Ours beside its peers, in paired runs: prints ratios, never absolute times. Nothing else may run meanwhile.

./run python bench/peers.py sparse      sparse-coding coefficients: every solver over our fastest, one and all cores
./run python bench/peers.py rbm         a training step of an RBM as a tutorial writes it in PyTorch and in NumPy, and
                                        scikit-learn's, over ours; every size of the paper, one and all cores
./run python bench/peers.py device      the same step on a CUDA device, over ours there: as a user writes it in PyTorch,
                                        compiled by torch.compile, in JAX, and that of the package rbms; without a
                                        device, on the CPU at tiny sizes
./run python bench/peers.py mlp         a training step of a multi-layer perceptron as a tutorial writes it in PyTorch
                                        and in NumPy, over ours; one and all cores
./run python bench/peers.py convnet     a step of ResNet-50, LeNet and a small net on digits as a tutorial writes them
                                        in PyTorch, over ours; one and all cores

SPAMS (GPL) and rbms are compared with if they are installed: uv pip install --python .venv/bin/python spams-bin rbms

All run in the environment of a measurement, whose allocator keeps freed memory: outside it, new arrays, of which
tutorials make many, cost more than here.
"""

import argparse
from collections.abc import Callable, Mapping
from copy import deepcopy
from itertools import cycle
from typing import Any

import numpy as np
import torch
from paired import Comparison, Step, compare, paired_ratio
from scipy.special import softmax
from torch import nn

from respeed.backends import Program, make_backend
from respeed.inputs.papers import load_paper
from respeed.kernels.sparse import coordinate_descent, feature_sign_search, make_workspaces
from respeed.model import Case
from respeed.text import first_line
from respeed.workloads import make_workload
from respeed.workloads._nets import LocalResponse, Rows, Tanh
from respeed.workloads.convnet import Convnet
from respeed.workloads.mlp import Mlp
from respeed.workloads.rbm import Rbm
from respeed.workloads.sparse_coding import SparseParallel, objective

Inputs = Mapping[str, Any]
# A comparison that would take longer has fewer pairs, and says so.
MOST_SECONDS = 30.0

# ---- a binary RBM: CD-1 by a mini-batch in fp32, every intermediate result a new array, two gradients

SCIKIT_LEARN = """\
  scikit-learn's BernoulliRBM samples visible and hidden units, two samplings to our one: its negative phase goes on
  from the hidden sample of the step before (persistent CD, one Gibbs step). partial_fit computes in float64 whatever it
  is given; the mini-batch of its fit, a private method, in float32 if the examples are."""


class NaiveRbmTorch:
    """CD-1 in PyTorch as a tutorial writes it. `sample` draws 0 or 1 with the probabilities that it is given."""

    def __init__(
        self,
        rbm: Rbm,
        inputs: Inputs,
        sample: Callable[[torch.Tensor], torch.Tensor] = torch.bernoulli,
        device: str = "cpu",
    ):
        self.rate, self.sample = rbm.learning_rate, sample
        self.examples = cycle(torch.from_numpy(np.asarray(inputs["x"])).to(device))  # (B, V) each
        W, b, c = (torch.from_numpy(np.array(inputs[name])).to(device) for name in "Wbc")
        self.W, self.b, self.c = W, b, c  # (V, H), (V,), (H,)

    def step(self) -> None:
        self.learn(next(self.examples))

    def learn(self, v0: torch.Tensor) -> None:
        h0 = torch.sigmoid(v0 @ self.W + self.c)
        s = self.sample(h0)
        v1 = torch.sigmoid(s @ self.W.t() + self.b)
        h1 = torch.sigmoid(v1 @ self.W + self.c)
        self.W += self.rate * (v0.t() @ h0 - v1.t() @ h1) / len(v0)
        self.b += self.rate * (v0 - v1).mean(dim=0)
        self.c += self.rate * (h0 - h1).mean(dim=0)


class NaiveRbmNumPy:
    """The same in NumPy."""

    def __init__(self, rbm: Rbm, inputs: Inputs, sample: Callable[[np.ndarray], np.ndarray] | None = None):
        self.rate = rbm.learning_rate
        self.sample = sample or _bernoulli(np.random.default_rng(1))
        self.examples = cycle(np.asarray(inputs["x"]))  # (B, V) each
        self.W, self.b, self.c = (np.array(inputs[name]) for name in "Wbc")  # (V, H), (V,), (H,)

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
        rbm = Rbm(**case.parameters)
        ours = {name: _our_program(name, case, threads) for name in ("torch", "numpy")}
        # One after another, so that the arrays of one alone lie beside ours.
        for name, library, peer in RBM_PEERS:
            theirs = peer(rbm, ours[library].inputs)
            ratio = paired_ratio(theirs, ours[library].step, most_seconds=MOST_SECONDS)
            print(f"    {name:<37} {ratio} times as long as ours on {library}", flush=True)


def _our_program(name: str, case: Case, threads: int) -> Program:
    backend = make_backend(name, device="cpu", precision="fp32", threads=threads, seed=1)
    return backend.build(make_workload(case), 1)


def _partial_fit(rbm: Rbm, inputs: Inputs) -> Step:
    model, examples = _bernoulli_rbm(rbm, inputs, np.float64), cycle(np.asarray(inputs["x"]))
    return lambda: model.partial_fit(next(examples))


def _fit(rbm: Rbm, inputs: Inputs) -> Step:
    model, examples = _bernoulli_rbm(rbm, inputs, np.float32), cycle(np.asarray(inputs["x"]))
    return lambda: model._fit(next(examples), model.random_state_)


def _bernoulli_rbm(rbm: Rbm, inputs: Inputs, precision: type[np.floating]) -> Any:
    """A BernoulliRBM with our parameters, as its first step would have left it; its weights are (H, V), in columns."""
    from sklearn.neural_network import BernoulliRBM

    H, B = rbm.hidden, rbm.batch
    model = BernoulliRBM(H, learning_rate=rbm.learning_rate, batch_size=B, random_state=1)
    model.partial_fit(np.asarray(inputs["x"][0]))
    model.components_ = np.array(np.asarray(inputs["W"]).T, dtype=precision, order="F")
    model.intercept_visible_, model.intercept_hidden_ = (np.array(inputs[name], dtype=precision) for name in "bc")
    model.h_samples_ = np.zeros((B, H), precision)
    return model


def _bernoulli(random: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    return lambda p: (random.random(p.shape, dtype=np.float32) < p).astype(np.float32)


def _sigmoid(z: np.ndarray) -> np.ndarray:
    out: np.ndarray = 1 / (1 + np.exp(-z))
    return out


# Name, our backend on the library that it uses too, and what makes its step.
RBM_PEERS: tuple[tuple[str, str, Callable[[Rbm, Inputs], Step]], ...] = (
    ("PyTorch as in a tutorial", "torch", lambda rbm, inputs: NaiveRbmTorch(rbm, inputs).step),
    ("NumPy as in a tutorial", "numpy", lambda rbm, inputs: NaiveRbmNumPy(rbm, inputs).step),
    ("scikit-learn, fp32 mini-batch of fit", "numpy", _fit),
    ("scikit-learn, partial_fit in float64", "numpy", _partial_fit),
)


# ---- the same on a CUDA device

# Steps between two waits for the device.
DEVICE_STEPS, DEVICE_PAIRS = 48, 9


def compare_on_device(threads: int) -> None:
    """Print every peer's time over that of our step at each size, in strict fp32."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    table = load_paper("raina2009").experiments["rbm"]
    cases = table.cases if device == "cuda" else table.smoke_cases
    if device == "cpu":
        print("  no CUDA device: on the CPU, at tiny sizes, which say nothing of a device", flush=True)
    for case in cases:
        rbm = Rbm(**case.parameters)
        backend = make_backend("torch", device=device, precision="fp32", threads=threads, seed=1)
        ours = backend.build(rbm, 1)
        print(f"  {case.name} on {device}, passes by {backend.describe().get('elementwise', 'torch')}", flush=True)
        for name, make in DEVICE_PEERS.items():
            try:
                step, wait = make(rbm, ours.inputs, device), backend.sync
                step()
            except Exception as error:  # of a library that is not installed, or has no such device or compiler
                print(f"    {name:<37} not compared: {first_line(error)[:200]}", flush=True)
                continue
            ratio = paired_ratio(_in_rows(step, wait), _in_rows(ours.step, wait), DEVICE_PAIRS, MOST_SECONDS)
            print(f"    {name:<37} {ratio} times as long as ours", flush=True)


def _in_rows(step: Step, wait: Step) -> Step:
    """Return a function that asks for many steps, and waits for them."""

    def steps() -> None:
        last: object = None
        for _ in range(DEVICE_STEPS):
            last = step()
        getattr(last, "block_until_ready", wait)()

    return steps


def _as_written(rbm: Rbm, inputs: Inputs, device: str) -> Step:
    return NaiveRbmTorch(rbm, inputs, device=device).step


def _compiled(rbm: Rbm, inputs: Inputs, device: str) -> Step:
    peer = NaiveRbmTorch(rbm, inputs, device=device)
    learn = torch.compile(peer.learn)
    return lambda: learn(next(peer.examples))


def _in_jax(rbm: Rbm, inputs: Inputs, device: str) -> Step:
    """A jitted function of what is learned; its products are of strict fp32, as torch's are by default."""
    import jax

    jax.config.update("jax_default_matmul_precision", "highest")
    place = jax.devices("gpu" if device == "cuda" else "cpu")[0]
    rate = rbm.learning_rate

    def learn(learned: Any, v0: Any) -> Any:
        W, b, c, key = learned
        key, used = jax.random.split(key)
        h0 = jax.nn.sigmoid(v0 @ W + c)
        s = jax.random.bernoulli(used, h0).astype(h0.dtype)
        v1 = jax.nn.sigmoid(s @ W.T + b)
        h1 = jax.nn.sigmoid(v1 @ W + c)
        W = W + rate * (v0.T @ h0 - v1.T @ h1) / len(v0)
        return W, b + rate * (v0 - v1).mean(0), c + rate * (h0 - h1).mean(0), key

    examples = cycle([jax.device_put(np.asarray(x), place) for x in np.asarray(inputs["x"])])
    learned = tuple(jax.device_put(np.asarray(inputs[name]), place) for name in "Wbc")
    compiled = jax.jit(learn)
    state = [(*learned, jax.device_put(jax.random.PRNGKey(1), place))]

    def step() -> object:
        state[0] = compiled(state[0], next(examples))
        return state[0][0]

    return step


def _of_rbms(rbm: Rbm, inputs: Inputs, device: str) -> Step:
    """The step of rbms' own training by CD: it samples both layers of the chains, and scales gradients to norm 1."""
    from rbms.bernoulli_bernoulli.classes import BBRBM
    from rbms.training.pcd import fit_batch_pcd

    W, b, c = (torch.from_numpy(np.array(inputs[name])).to(device) for name in "Wbc")
    model = BBRBM(weight_matrix=W, vbias=b, hbias=c)
    model.init_grad()
    optimizer = torch.optim.SGD(model.parameters(), lr=rbm.learning_rate, maximize=True)
    examples = cycle(torch.from_numpy(np.asarray(inputs["x"])).to(device))
    weights = torch.ones(rbm.batch, 1, device=device)

    def step() -> None:
        v0 = next(examples)
        optimizer.zero_grad(set_to_none=False)
        chains = model.init_chains(len(v0), weights=weights, start_v=v0)
        fit_batch_pcd((v0, weights), chains, model, gibbs_steps=1, beta=1.0, centered=False)
        optimizer.step()

    return step


# Name, and what makes its step on a device.
DEVICE_PEERS: dict[str, Callable[[Rbm, Inputs, str], Step]] = {
    "PyTorch as a user writes it": _as_written,
    "PyTorch compiled": _compiled,
    "JAX as a user writes it": _in_jax,
    "rbms": _of_rbms,
}


# ---- a multi-layer perceptron: the same arithmetic as ours, and the same parameters in the end

ACTIVATIONS = {"tanh": torch.nn.Tanh, "sigmoid": torch.nn.Sigmoid}
# f(z), and f'(z) by a = f(z).
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "tanh": (np.tanh, lambda a: 1 - a**2),
    "sigmoid": (lambda z: 1 / (1 + np.exp(-z)), lambda a: a * (1 - a)),
}


class TutorialTorch:
    def __init__(self, mlp: Mlp, inputs: Inputs) -> None:
        layers: list[torch.nn.Module] = []
        for weights, bias in _parameters(inputs):
            linear = torch.nn.Linear(*weights.shape)
            linear.weight.data, linear.bias.data = torch.from_numpy(weights.T.copy()), torch.from_numpy(bias.copy())
            layers += [linear, ACTIVATIONS[mlp.activation]()]
        self.model = torch.nn.Sequential(*layers[:-1])
        self.criterion = torch.nn.CrossEntropyLoss()
        parameters = [{"params": [layer.weight], "weight_decay": mlp.weight_decay} for layer in self.linear()]
        biases = {"params": [layer.bias for layer in self.linear()]}
        self.optimizer = torch.optim.SGD([*parameters, biases], lr=mlp.learning_rate)
        examples, labels = torch.from_numpy(np.asarray(inputs["x"])), torch.from_numpy(inputs["y"][..., 0])
        self.batches = cycle(list(zip(examples, labels, strict=True)))

    def linear(self) -> list[torch.nn.Linear]:
        return [layer for layer in self.model if isinstance(layer, torch.nn.Linear)]

    def step(self) -> None:
        x, y = next(self.batches)
        with torch.enable_grad():  # our backend needs no gradients, and says so for the thread
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()

    def parameters(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(layer.weight.detach().numpy().T, layer.bias.detach().numpy()) for layer in self.linear()]


class TutorialNumPy:
    def __init__(self, mlp: Mlp, inputs: Inputs) -> None:
        self.layers = [(weights.copy(), bias.copy()) for weights, bias in _parameters(inputs)]
        self.activation, self.slope = FUNCTIONS[mlp.activation]
        self.rate, self.decay = np.float32(mlp.learning_rate), np.float32(mlp.weight_decay)
        self.batches = cycle(list(zip(np.asarray(inputs["x"]), inputs["y"][..., 0], strict=True)))

    def step(self) -> None:
        x, y = next(self.batches)
        outs = [x]
        for weights, bias in self.layers[:-1]:
            outs.append(self.activation(outs[-1] @ weights + bias))
        weights, bias = self.layers[-1]
        error = softmax(outs[-1] @ weights + bias, axis=1)
        error[np.arange(len(y)), y] -= 1
        error /= np.float32(len(y))
        for (weights, bias), out in reversed(list(zip(self.layers, outs, strict=True))):
            below = error @ weights.T * self.slope(out) if out is not x else error
            weights -= self.rate * (out.T @ error + self.decay * weights)
            bias -= self.rate * error.sum(axis=0)
            error = below

    def parameters(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return self.layers


def compare_mlp(threads: int) -> None:
    """Every peer's time over that of our step on the library nearest to it, at each size of the paper's table."""
    for case in load_paper("bergstra2010").experiments["mlp"].cases:
        print(f"  {case.name}, {threads} threads", flush=True)
        for name, library, peer in MLP_PEERS:
            ours = _our_program(library, case, threads)
            ratio = paired_ratio(peer(Mlp(**case.parameters), ours.inputs), ours.step, most_seconds=MOST_SECONDS)
            print(f"    {name:<37} {ratio} times as long as ours on {library}", flush=True)


def _parameters(inputs: Inputs) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights (below, above) and bias of every layer."""
    count = sum(name.startswith("W") for name in inputs)
    return [(np.asarray(inputs[f"W{place}"]), np.asarray(inputs[f"b{place}"])) for place in range(1, count + 1)]


# Name, our backend on the library that it uses too, and what makes its step.
MLP_PEERS: tuple[tuple[str, str, Callable[[Mlp, Inputs], Step]], ...] = (
    ("PyTorch as in a tutorial", "torch", lambda mlp, inputs: TutorialTorch(mlp, inputs).step),
    ("NumPy as in a tutorial", "numpy", lambda mlp, inputs: TutorialNumPy(mlp, inputs).step),
)


# ---- a convolutional net of torch.nn's modules: images channel by channel, ReLU in place, automatic derivatives

IMAGENET = {
    "width": 1.0, "batch": 16, "side": 224, "classes": 1000,
    "update": "none", "learning_rate": 0.0, "gradients": "parameters",
}  # fmt: skip
DIGITS = {
    "width": 1.0, "side": 28, "classes": 10, "update": "sgd", "learning_rate": 0.1, "gradients": "parameters",
}  # fmt: skip
NETS: dict[str, dict[str, Any]] = {
    "ResNet-50": IMAGENET | {"network": "resnet50"},
    "LeNet": DIGITS | {"network": "lenet-pooled", "batch": 500},
    "small net on digits": DIGITS | {"network": "digits", "batch": 128},
}
# Ours in a tutorial's words.
OF_TORCH: dict[type, Callable[[Any], nn.Module]] = {
    Tanh: lambda _: nn.Tanh(),
    Rows: lambda _: nn.Flatten(),
    LocalResponse: lambda one: nn.LocalResponseNorm(one.size, one.alpha, one.beta, one.k),
}


class NaiveConvnet:
    """`step` trains the net, or only computes its gradients, on the first mini-batch."""

    def __init__(self, workload: Convnet, inputs: dict[str, Any]) -> None:
        self.model, self.learns, self.maps = deepcopy(workload.net), workload.learns, torch.Size()
        for name, one in [*self.model.named_modules()]:
            if isinstance(one, Rows):
                one.register_forward_hook(lambda _, given, y: setattr(self, "maps", given[0].shape[1:]))
                self.model(torch.empty(2, *workload.example[0], device="meta"))
            if type(one) in OF_TORCH:
                above, _, last = name.rpartition(".")
                setattr(self.model.get_submodule(above), last, OF_TORCH[type(one)](one))
        state = self.model.state_dict()
        for name in state:
            state[name] = self.arrange(name, torch.from_numpy(np.array(inputs[name])))
        self.model.load_state_dict(state, assign=True)
        self.images = torch.from_numpy(np.array(inputs["images"][0])).requires_grad_(workload.images_too)
        target = np.array(inputs["labels"][0] if self.learns else inputs["error"])
        self.target, self.criterion = torch.from_numpy(target), nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=workload.learning_rate)

    def arrange(self, name: str, array: torch.Tensor) -> torch.Tensor:
        """Return a parameter as it is here: the first linear layer reads its maps channel by channel."""
        linear = next(one for one, layer in self.model.named_modules() if isinstance(layer, nn.Linear))
        if name != f"{linear}.weight" or not self.maps:
            return array
        return array.view(-1, *self.maps[1:], self.maps[0]).permute(0, 3, 1, 2).flatten(1)

    def step(self) -> None:
        with torch.enable_grad():
            self.optimizer.zero_grad()
            scores = self.model(self.images)
            if self.learns:
                self.criterion(scores, self.target).backward()
                self.optimizer.step()
            else:
                scores.backward(self.target)


def compare_convnet(threads: int) -> None:
    """The tutorial's time over ours for each net."""
    backend = make_backend("torch", device="cpu", precision="fp32", threads=threads, seed=1)
    for name, parameters in NETS.items():
        workload = Convnet(**parameters)
        ours = backend.build(workload, 1)
        ratio = paired_ratio(NaiveConvnet(workload, ours.inputs).step, ours.step, most_seconds=MOST_SECONDS)
        print(f"    {name:<20} PyTorch as in a tutorial {ratio} times as long as ours", flush=True)


# ---- sparse-coding coefficients

SPARSE_PAIRS, EXAMPLES = 9, 300

Solver = Callable[[], np.ndarray]


def solvers(case: Case, threads: int) -> tuple[dict[str, Solver], Callable[[np.ndarray], float]]:
    """Programs that give the coefficients (m, n) of the same examples, and the objective of what they give."""
    given = {**case.parameters, "patches": EXAMPLES, "batch": EXAMPLES, "timed": EXAMPLES}
    backend = make_backend("numpy", device="cpu", precision="fp32", threads=threads, seed=1)
    parallel = backend.build(SparseParallel(**given), seed=1)
    solve_coefficients, _ = parallel.parts
    x, bases, penalty = parallel.arrays.x[0], parallel.arrays.bases, given["penalty"]
    gram, correlations = np.empty((len(bases), len(bases)), np.float32), np.empty((EXAMPLES, len(bases)), np.float32)
    out, workspaces = np.empty_like(correlations), make_workspaces(threads, len(bases))

    def compiled(kernel: Callable[..., None]) -> Solver:
        def solve() -> np.ndarray:
            np.matmul(bases, bases.T, out=gram)
            np.matmul(x, bases.T, out=correlations)
            kernel(out, gram, correlations, penalty, workspaces)
            return out

        return solve

    def all_at_once() -> np.ndarray:
        solve_coefficients()
        found: np.ndarray = parallel.arrays.coefficients
        return found

    found: dict[str, Solver] = {
        "compiled descent": compiled(coordinate_descent),
        "feature-sign search": compiled(feature_sign_search),
        "parallel coordinates": all_at_once,
        "scikit-learn lasso_cd": _lasso_cd(x, bases, penalty, threads),
    }
    found |= _spams(x, bases, penalty, threads)
    wide_x, wide_bases = x.astype(np.float64), bases.astype(np.float64)
    return found, lambda coefficients: float(objective(wide_x, wide_bases, coefficients, penalty).sum())


def _lasso_cd(x: np.ndarray, bases: np.ndarray, penalty: float, threads: int) -> Solver:
    from sklearn.decomposition import sparse_encode

    wide, wide_bases = x.astype(np.float64), bases.astype(np.float64)

    def solve() -> np.ndarray:
        found: np.ndarray = sparse_encode(
            wide, wide_bases, algorithm="lasso_cd", alpha=penalty, max_iter=10000, n_jobs=threads
        )
        return found

    return solve


def _spams(x: np.ndarray, bases: np.ndarray, penalty: float, threads: int) -> dict[str, Solver]:
    try:
        import spams
    except ImportError:
        print("  SPAMS is not installed and not compared with")
        return {}
    from scipy.sparse import csc_matrix

    columns, dictionary = np.asfortranarray(x.T), np.asfortranarray(bases.T)
    zero = csc_matrix((bases.shape[0], len(x)), dtype=np.float32)

    def lars() -> np.ndarray:
        found = spams.lasso(columns, D=dictionary, lambda1=penalty, mode=2, numThreads=threads)
        return np.asarray(found.T.todense())

    def descent() -> np.ndarray:
        found = spams.cd(columns, dictionary, zero, lambda1=penalty, mode=2, itermax=1000, tol=1e-3, numThreads=threads)
        return np.asarray(found.T.todense())

    return {"SPAMS LARS": lars, "SPAMS CD": descent}


def compare_sparse(threads: int) -> None:
    """Every solver's time over ours, the median of paired ratios with its 95 % interval, at each sparsity."""
    for case in {case.name: case for case in load_paper("raina2009").experiments["sparse-coding"].cases}.values():
        programs, objective = solvers(case, threads)
        ours, *others = programs
        print(f"  {case.name}, {threads} threads, {EXAMPLES} patches")
        best = objective(programs[ours]())
        for name in others:
            excess = objective(programs[name]()) / best - 1
            ratio = paired_ratio(programs[name], programs[ours], SPARSE_PAIRS)
            print(f"    {name:<22} {ratio} times as long as ours; its objective is {excess:+.1e} of ours")


COMPARISONS: dict[str, Comparison] = {
    "sparse": compare_sparse,
    "rbm": compare_rbm,
    "device": compare_on_device,
    "mlp": compare_mlp,
    "convnet": compare_convnet,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("comparison", choices=COMPARISONS)
    parser.add_argument("--threads", type=int, help="compare in this process, which has the environment for it")
    options = parser.parse_args()
    compare(options.comparison, COMPARISONS, options.threads)


if __name__ == "__main__":
    main()
