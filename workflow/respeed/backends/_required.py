"""What every backend has: the first part of the contract."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypedDict

import numpy as np

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
    """What every backend says of itself for the record, as it is in force. One that has more to say adds keys in a
    class of its own."""

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

    def describe(self) -> Facts:
        """Facts for the record: libraries, device, precision flags as they are in force."""
