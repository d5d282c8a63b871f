"""Backends: where arrays live and how they are multiplied. One module each, named as in the hardware profiles, or, in
one of FAMILIES, a class each.

Every one has, as literals (its file's own where its class has none), since they are read without importing it,

- DEVICES and PRECISIONS: tuples of names, of which a hardware profile names one each;
- OFFERS: what it has of BackendContract beyond what it must have (Required); nothing if it is left out;
- LIBRARY: if it computes with SciPy's BLAS, the one that this must be;
- RUNS: the workloads that it runs, if not all that it could;

and Backend(device=, precision=, threads=, seed=), a class or function, in a family the class itself: what fulfils the
contract below, as far as it is offered. A workload says what it asks for (ASKS) and runs on the backends that offer all
of it, so a backend of REQUIRED alone runs matmul, and the probe and the ceilings that every round is measured with.

All operations write into arrays that exist already: a step that is built from them allocates nothing.
"""

import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol, TypedDict, TypeVar

import numpy as np

from respeed.kernels.compiled import Workers
from respeed.machine.process import die_with_parent, private_stdout
from respeed.machine.software import LIBRARIES, OF_BEFORE, scipy_library
from respeed.model.paper import number_bytes
from respeed.paths import class_name

# Files that hold several backends, each a class of its name.
FAMILIES = {"scipy_blas": ("openblas", "accelerate", "mkl", "blis", "program")}

# An array of the backend's own kind: numpy.ndarray, torch.Tensor, ...
Array = Any

# Something that is done again and again on the same arrays.
Step = Callable[[], None]

# The members of Required, for who reads them without importing this.
REQUIRED = (
    "synchronous", "threads", "pools", "memory_factor", "array", "zeros", "parameters", "captured",
    "rehearsals", "bytes_free", "host", "copy", "gemm", "sync", "describe",
)  # fmt: skip


class Facts(TypedDict):
    """What every backend says of itself for the record, as it is in force. One that has more to say adds keys."""

    package: str  # and its version: "torch 2.9.0"
    library: str  # what multiplies: "OpenBLAS"
    device: str
    precision: str
    threads_set: int  # what the library itself says


class Required(Protocol):
    """What every backend has. Matrices are row-major; a row is an example.

    Where an operation takes matrices it also takes stacks of them, (P, m, n): P operations, one for each. A matrix
    beside stacks is the same for all of them. The rows of an array must be contiguous; stacks may be slices.

    `synchronous` says that an operation is finished when it returns, so that single steps can be timed. A step may use
    `pools` pools of `threads` threads in turn.

    Where the precision is a low one, arrays, and so what products multiply, are of it; `parameters` are kept in fp32
    beside. In fp64 all numbers are of 8 bytes, on the host as well. `memory_factor` is how much more (or less) than 4
    bytes a number the arrays of a program take.
    """

    synchronous: bool
    threads: int
    pools: int
    memory_factor: float

    def array(self, values: np.ndarray) -> Array:
        """A copy of `values` on the device, in the backend's precision."""

    def zeros(self, *shape: int) -> Array:
        """An array of zeros on the device."""

    def parameters(self, values: np.ndarray) -> Array:
        """As `array`, for what is learned: however low the precision, small changes add up as they do in fp32. May be
        an operand of products, a bias, and what `gemm` adds to; and be indexed."""

    def captured(self, step: Step) -> Step:
        """`step`, or what does the same by one request to the device: a graph of what the step asks for, made at once.

        All that the step uses must be there. It must ask for the same operations on the same arrays whenever it is
        called, and wait for no answer.
        """

    def rehearsals(self) -> Sequence[AbstractContextManager[None]]:
        """A program that is built and run within each does all that large ones do, however small it is: what is loaded
        or compiled by the first that does it is there before one is timed."""

    def bytes_free(self) -> float | None:
        """What arrays can still take of the device's own memory; None where they lie in the host's."""

    def host(self, array: Array) -> np.ndarray:
        """`array` as NumPy float32, in fp64 as float64. On the CPU it may be the same memory: use it before the next
        operation."""

    def copy(self, source: Array, out: Array) -> None:
        """out <- source, spread over out's shape as NumPy broadcasts."""

    def gemm(
        self,
        a: Array,
        b: Array,
        out: Array,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
    ) -> None:
        """out (m, n) <- alpha op(a) (m, k) @ op(b) (k, n) + beta out."""

    def sync(self) -> None:
        """Return when everything asked of the device is done."""

    def describe(self) -> Mapping[str, Any]:
        """Facts, and what more there is to say for the record: libraries, device, precision flags as they are in
        force."""


Item = TypeVar("Item")

# f of a layer: "none" f(z) = z, "sigmoid" 1 / (1 + exp(-z)), "tanh" tanh(z), "relu" max(z, 0).
Activation = Literal["none", "sigmoid", "tanh", "relu"]


class Draws(Protocol):
    """Where a layer's uniform draws come from."""

    def last(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Those that the last sample was compared with, exactly, as NumPy; of these rows alone, if any are named."""


class Stream(Protocol):
    """Chunks of examples on their way from the host to two arrays, which take turns: one is used, the other filled."""

    arrays: tuple[Array, Array]

    def advance(self) -> int:
        """Which of the arrays the next chunk is in, from now on and until the next call; after the last chunk comes the
        first. What is asked of the device after this call finds it there, and the other array begins to be filled."""


class Mirror(Protocol):
    """An array of the device and its twin in the host's memory. On the CPU they are one, and nothing is copied: `apart`
    says whether they are two."""

    array: Array
    apart: bool

    def upload(self) -> None:
        """array <- the host's. It need not be done on return."""

    def download(self) -> None:
        """The host's <- array. It need not be done on return."""

    def values(self) -> np.ndarray:
        """The host's, as NumPy."""


class Group(Protocol):
    """A replica's place among `count` of them."""

    rank: int
    count: int

    def all_reduce(self, array: Array) -> None:
        """array <- the sum of this array of all replicas, when all have come to here."""


class Replicas(Protocol):
    """Processes with a backend each, as large as one core or one GPU. `processes` are their ids."""

    processes: tuple[int, ...]

    def build(self, make: Callable[..., Any], *arguments: Any) -> None:
        """make(backend, group, *arguments) in each of them, by name: a function or class of a module."""

    def call(self, method: str) -> list[Any]:
        """What the method of what was built returns in each of them, when all are done. RuntimeError if one fails."""


class BackendContract(Required, Protocol):
    """What a backend may offer to workloads besides, each by its name.

    On the CPU `workers` spreads a kernel's rows over threads. A stack of more than `stack_bytes`, at 4 bytes a
    number, leaves the caches of one core, and is better worked off in several, of which `each` does `lanes` at once; an
    accelerator takes any.

    `shares_cores`: its library has more threads than the row, on the row's CPUs, and cannot be told otherwise. They
    wait for one another by design; what they are held to is the CPU time that they take. Not so if it is not offered.
    """

    workers: Workers
    stack_bytes: float
    lanes: int
    shares_cores: bool

    def stream(self, chunks: Sequence[np.ndarray]) -> Stream:
        """`chunks`, of one shape, one after another in `array`s of the device, copied while the last one is used."""

    def mirrored(self, values: np.ndarray, *, pinned: bool) -> Mirror:
        """`values` in the host's memory, and a place for them on the device, all 0 where it is another. Pinned memory
        stays where it is, and the device reads it by itself; pageable memory is first copied to such by the driver.
        NotMeasurable with the reason where the device has no use for pinned memory."""

    def replicas(self, count: int) -> Replicas:
        """Processes on a core of the backend's each, or on a GPU each. Those of the last call are no more to be used.
        NotMeasurable with the reason where there are fewer cores or GPUs."""

    def limited(self, threads: int) -> AbstractContextManager[None]:
        """What is asked for within it uses so many of the backend's threads. To be entered again and again.
        NotMeasurable with the reason where there are fewer, and on what is no CPU."""

    def each(self, items: Sequence[Item], work: Callable[[Item, int], None]) -> None:
        """work(item, lane) for all items, in any order; `lanes` of them at once, each on one thread, products included.

        Items are independent of one another, but for what they `add_up`; what they write to besides is their own, or
        the lane's, 0 ... lanes - 1. Items that follow one another are worked off far apart.
        """

    def take_rows(self, source: Array, rows: np.ndarray, out: Array) -> None:
        """out <- the rows of source that `rows` names."""

    def put_rows(self, source: Array, rows: np.ndarray, out: Array) -> None:
        """The rows of out that `rows` names <- source."""

    def add(self, source: Array, out: Array) -> None:
        """out <- out + source."""

    def sum(self, a: Array, b: Array, out: Array) -> None:
        """out <- a + b, all of one shape, in one pass."""

    def factors(self, n: int) -> Any:
        """What `inverse` needs for matrices (n, n): room for the factors and for what comes between."""

    def inverse(self, a: Array, factors: Any, out: Array) -> None:
        """out (n, n) <- the inverse of a (n, n), by LU factors with pivoting. Not to be `captured`."""

    def sigmoid(self, out: Array) -> None:
        """out <- 1 / (1 + exp(-out))."""

    def dense_layer(
        self,
        x: Array,
        weights: Array,
        bias: Array,
        out: Array,
        *,
        activation: Activation,
        transpose: bool = False,
        scale: float = 1.0,
    ) -> None:
        """out (m, n) <- scale f(x (m, k) @ op(weights) (k, n) + bias (1, n)), one row an example."""

    def activation_backward(self, out: Array, error: Array, *, activation: Activation) -> None:
        """error <- error f'(z), where out = f(z) is what a dense_layer wrote; f is not "none". Matrices without gaps.
        At 0 the slope of relu is 0."""

    def labels(self, values: np.ndarray) -> Array:
        """`values`, whole numbers from 0 on, on the device. May be indexed."""

    def softmax_error(self, logits: Array, labels: Array, out: Array, costs: Array) -> None:
        """costs (m, 1) <- -log softmax(logits (m, n)) at the labels (m,), the cross-entropies;
        out (m, n) <- softmax(logits) - onehot(labels), the gradient of their sum with respect to the logits.

        `out` is another array than `logits`.
        """

    def sigmoid_error(self, x: Array, out: Array, costs: Array) -> None:
        """For logits z in out (m, n): costs (m, 1) <- -sum(x log sigmoid(z) + (1 - x) log(1 - sigmoid(z))) of each row,
        the cross-entropies; out <- x - sigmoid(z), the way down them. Matrices without gaps."""

    def draws(self, *shape: int) -> Draws:
        """What `sample_layer` and `mask` need for layers of this shape."""

    def sample_layer(
        self,
        x: Array,
        weights: Array,
        bias: Array,
        out: Array,
        sample: Array,
        draws: Draws,
        *,
        transpose: bool = False,
        scale: float = 1.0,
    ) -> None:
        """out <- as dense_layer with "sigmoid"; sample <- 1 where a fresh draw from [0, 1) is below out / scale,
        else 0."""

    def mask(self, x: Array, share: float, out: Array, draws: Draws) -> None:
        """out <- x, but 0 where a fresh draw from [0, 1) is below `share`."""

    def cut(self, image: Array, first: int, across: int, out: Array, top: int) -> None:
        """out (c, m, across^2 n), from its row `top` on, <- windows first ... first + c - 1 of image (G, G, B, n): the
        linear map K. Window w of R^2, R = G - across + 1, has the across x across tiles from (w // R, w % R) on.
        """

    def add_up(self, added: Array, first: int, across: int, image: Array) -> None:
        """image <- image + the windows `added` (c, B, across^2 n), each at its place: K^T, the adjoint of `cut`.

        Of items that `each` does at once, those whose windows share a row of tiles wait for one another.
        """

    def coordinate_step(
        self, left: Array, coefficients: Array, diagonal: Array, penalty: float, going: Array, out: Array
    ) -> None:
        """out (m, n) <- soft(left + coefficients diagonal, penalty) / diagonal - coefficients: the way to the minimum
        of every coordinate by itself; soft(z, p) = sign(z) max(|z| - p, 0), diagonal (n,). 0 where going (m, 1) is 0.
        """

    def line_search(
        self,
        direction: Array,
        moved: Array,
        left: Array,
        coefficients: Array,
        penalty: float,
        lengths: tuple[float, ...],
        least: float,
        objective: Array,
        going: Array,
        least_of_norm: float = 0.0,
    ) -> None:
        """Each row takes the first length t that lowers its objective (m, 1) by more than the share `least` of it and
        the share `least_of_norm` of penalty ||s||_1:

        change(t) = t^2/2 <direction, moved> - t <left, direction> + penalty (||s + t direction||_1 - ||s||_1)
        coefficients += t direction    left -= t moved    objective += change(t)

        A row that finds none keeps what it has, and its `going` becomes 0.
        """

    def gradient_step(self, bases: Array, product: Array, target: Array, rate: float, out: Array) -> None:
        """out <- bases - rate (product - target), each row scaled back to norm 1 if it is longer."""


def host_dtype(precision: str) -> np.dtype[Any]:
    """What arrays of a backend in this precision are as NumPy: exactly what they are there, low precisions widened."""
    return np.dtype(f"f{number_bytes(precision)}")


def scipy_backend() -> str:
    """The backend of the BLAS that SciPy computes with here; of one that none is for, another, which says so."""
    return scipy_library() if scipy_library() in LIBRARIES else OF_BEFORE


def make_backend(name: str, *, device: str, precision: str, threads: int, seed: int) -> BackendContract:
    """Import the backend `name` and set it up; NotMeasurable with the reason if the device is not there."""
    found = find_named("respeed.backends", FAMILIES, name)
    make = found if isinstance(found, type) else found.Backend
    backend: BackendContract = make(device=device, precision=precision, threads=threads, seed=seed)
    return backend


def probe(backend: str, device: str) -> None:
    """Print as a line of JSON what the backend finds who uses the device for a moment (`reasons` by precision, None
    where nothing speaks against it; `lasting`); nothing where a backend has no such question."""
    answers = private_stdout()
    die_with_parent()
    found = find_named("respeed.backends", FAMILIES, backend)
    if hasattr(found, "probe"):
        answers.write(json.dumps(found.probe(device)) + "\n")


def find_named(package: str, families: Mapping[str, Sequence[str]], name: str) -> Any:
    """The module of this name in the package; where one holds several, the class."""
    for file, names in families.items():
        if name in names:
            return getattr(importlib.import_module(f"{package}.{file}"), class_name(name))
    return importlib.import_module(f"{package}.{name}")
