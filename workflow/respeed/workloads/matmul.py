"""Matrix products, also those of an RBM's step alone, and the inverse of a matrix."""

import warnings
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from respeed.backends import Array, BackendContract
from respeed.model.paper import Case
from respeed.workloads import Arrays, Expected, Inputs, Product, Program
from respeed.workloads._common import Drawn, WorkloadClass, checked_rows, limit_threads, limited_step, sizes

# Of the inverse: vectors that it is checked by.
VECTORS = 8
# Over the root of n: the larger singular values of a matrix of uniform draws come to 1.15 of these, so that the
# condition number stays below 2 at any size.
STRENGTH = 4.0


class _Product:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        m, n = sizes(case, "m", "n")
        self.backend, self.how = backend, _how(case)
        self.a = backend.array(inputs["a"])  # (m, k); transposed (k, m)
        self.b = backend.array(inputs["b"])  # (k, n); transposed (n, k)
        # Without beta it is only written.
        start = np.outer(inputs["signs"], inputs["start"]) if "start" in inputs else None
        self.c = backend.zeros(m, n) if start is None else backend.array(start)
        self.step = backend.captured(self.multiply)

    def multiply(self) -> None:
        self.backend.gemm(self.a, self.b, self.c, **self.how)

    def state(self) -> Arrays:
        return {"c": self.backend.host(self.c)}


def _how(case: Case) -> dict[str, Any]:
    """What `gemm` is asked for beside the arrays."""
    given, transposed = case.parameters, str(case.parameters.get("transposed", ""))
    return {
        "transpose_a": "a" in transposed,
        "transpose_b": "b" in transposed,
        "alpha": float(given.get("alpha", 1.0)),
        "beta": float(given.get("beta", 0.0)),
    }


class Matmul(WorkloadClass):
    """C = A B: one matrix product, A (m, k), B (k, n), C (m, n); with options C = alpha A B + beta C, of factors that
    lie `transposed` in memory.

    C stays finite over any number of steps if beta is at most 1: below 1 it converges to alpha / (1 - beta) A B; at 1
    it grows by alpha A B a step, until that is less than its last digit. In fp16, alpha must then be small: 1 / k.
    """

    PARAMETERS: ClassVar = {"m": "whole", "k": "whole", "n": "whole"}
    OPTIONS: ClassVar = {"alpha": "real", "beta": "real", "transposed": ("a", "b", "ab")}
    TESTS: ClassVar[dict[str, dict[str, Any]]] = {
        "smoke": {"m": 16, "k": 24, "n": 8},
        "odd": {"m": 37, "k": 53, "n": 29},
        "large": {"m": 320, "k": 320, "n": 320},
    }

    program: ClassVar[type[Any]] = _Product

    def inputs(self, case: Case, seed: int) -> Inputs:
        """A and B, uniform in [-1, 1). Where beta is not 0, C begins as `signs` (m,) by `start` (n,): as exact in any
        precision as A and B are, of rank one, so that beta C is checked for next to nothing, and such that beta C is
        about a third of alpha A B, behind which no error of the product hides."""
        m, k, n = sizes(case, "m", "k", "n")
        random, how = np.random.default_rng(seed), _how(case)

        def drawn(*shape: int) -> np.ndarray:
            return random.random(shape, dtype=np.float32) * 2 - 1

        factors = {
            "a": drawn(k, m) if how["transpose_a"] else drawn(m, k),
            "b": drawn(n, k) if how["transpose_b"] else drawn(k, n),
        }
        if not how["beta"]:
            return factors
        signs = random.choice(np.array([-1, 1], np.float32), m)
        return factors | {"signs": signs, "start": drawn(n) * np.float32(how["alpha"] * k**0.5 / (6 * how["beta"]))}

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        """alpha A B + beta C, where beta C is one more column of A by one more row of B."""
        how = _how(case)
        a = inputs["a"].T if how["transpose_a"] else inputs["a"]
        b = inputs["b"].T if how["transpose_b"] else inputs["b"]
        if not how["beta"]:
            return {"c": Product(a, b, how["alpha"])}
        left = np.column_stack([a, inputs["signs"]]) * np.append(np.full(a.shape[1], how["alpha"]), how["beta"])
        return {"c": Product(left, np.vstack([b, inputs["start"]]))}

    def flops(self, case: Case) -> float:
        """2 m k n: a multiplication and an addition for each term. Those of alpha and beta are not counted."""
        m, k, n = sizes(case, "m", "k", "n")
        return 2.0 * m * k * n

    def traffic_bytes(self, case: Case) -> float:
        """A and B read once, C written once, and read where beta is not 0, fp32."""
        m, n = sizes(case, "m", "n")
        return self.memory_bytes(case) + (4.0 * m * n if _how(case)["beta"] else 0.0)

    def memory_bytes(self, case: Case) -> float:
        """A, B and C, fp32."""
        m, k, n = sizes(case, "m", "k", "n")
        return 4.0 * (m * k + k * n + m * n)


class MatmulThreads(Matmul):
    """On some of a row's threads alone: what more of them bring where work is computing."""

    PARAMETERS: ClassVar = {"m": "whole", "k": "whole", "n": "whole", "threads": "whole"}
    OPTIONS: ClassVar = {"alpha": "real", "beta": "real", "transposed": ("a", "b", "ab")}
    TESTS: ClassVar = {
        "smoke": {"m": 64, "k": 64, "n": 64, "threads": 1},
        "odd": {"m": 37, "k": 53, "n": 29, "threads": 1},
        "large": {"m": 320, "k": 320, "n": 320, "threads": 1},
    }
    PRECISIONS = ("fp32", "fp64")
    ASKS = ("limited",)

    def build(self, backend: BackendContract, case: Case, inputs: Inputs) -> Program:
        limit = limit_threads(backend, case)
        program = _Product(backend, case, inputs)
        program.step = limited_step(limit, program.multiply)
        return program


class _SparseProduct(_Product):
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        import torch

        self.backend, self.b = backend, backend.array(inputs["b"])  # (k, n)
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # torch calls its rows a beta
            rows = torch.from_numpy(inputs["a"]).to_sparse_csr()
            places = (one.to(self.b.device) for one in (rows.crow_indices(), rows.col_indices()))
            values = backend.array(rows.values().numpy())
            self.a = torch.sparse_csr_tensor(*places, values, size=rows.shape)  # (m, k)
        self.c = backend.zeros(len(rows), self.b.shape[1])  # (m, n)
        # Not captured: the library takes memory of its own.
        self.step = partial(torch.mm, self.a, self.b, out=self.c)


class SparseMatmul(Matmul):
    """C = A B, where a share `zeros` of A's entries is 0 and the others are stored as compressed rows (CSR); by the
    sparse product of torch's libraries: MKL, cuSPARSE, rocSPARSE."""

    PARAMETERS: ClassVar = {"m": "whole", "k": "whole", "n": "whole", "zeros": "real"}
    TESTS: ClassVar[dict[str, Any]] = {
        "smoke": {"m": 16, "k": 24, "n": 8, "zeros": 0.5},
        "odd": {"m": 37, "k": 53, "n": 29, "zeros": 0.95},
        "large": {"m": 320, "k": 320, "n": 320, "zeros": 0.9},
    }
    BACKENDS = ("torch",)
    PRECISIONS = ("fp32", "fp64")
    PRODUCTS = False
    ALLOCATES = True

    program: ClassVar = _SparseProduct

    def inputs(self, case: Case, seed: int) -> Inputs:
        """As of a dense product, but for the zeros, drawn without replacement: every case has as many."""
        arrays = super().inputs(case, seed)
        a = arrays["a"].reshape(-1)
        a[np.random.default_rng([seed, 1]).permutation(a.size)[self._nonzero(case) :]] = 0.0
        return arrays

    def flops(self, case: Case) -> float:
        """2 n for each entry that is not 0."""
        return 2.0 * self._nonzero(case) * sizes(case, "n")[0]

    def traffic_bytes(self, case: Case) -> float:
        """Each entry with its column (4 bytes), where each row begins, and B read once; C written once; fp32."""
        m, k, n = sizes(case, "m", "k", "n")
        return 8.0 * self._nonzero(case) + 4.0 * (m + 1 + k * n + m * n)

    def memory_bytes(self, case: Case) -> float:
        """The same, numbers of columns and rows in 8 bytes."""
        return self.traffic_bytes(case) + 4.0 * (self._nonzero(case) + sizes(case, "m")[0] + 1)

    def _nonzero(self, case: Case) -> int:
        m, k = sizes(case, "m", "k")
        return round(m * k * (1.0 - float(case.parameters["zeros"])))


class _Stack(NamedTuple):
    """The arrays of some patches, or the matrices of one."""

    weights: Array
    gradient: Array
    visible: Array  # [X; Z]
    hidden: Array  # [Y0; Y1]
    x: Array
    z: Array
    y0: Array
    y1: Array


class _Products:
    """Goes through the patches in stacks, each from its first product to its last. On a CPU every lane does so with
    stacks of its own, on one core, as in the workload patches; a single matrix is multiplied by all of them.
    """

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        P, V, H, B = _products_of(case)
        self.backend, self.batch, self.rows = backend, B, inputs["rows"]
        self.weights = backend.parameters(inputs["weights"])  # (P, V, H)
        self.gradient = backend.zeros(P, V, H)
        self.visible = backend.array(inputs["visible"])  # (P, 2B, V)
        self.hidden = backend.zeros(P, 2 * B, H)
        self.stacks = [self._stack(which) for which in _stacks_of(case, backend.stack_bytes)]
        self.step = backend.captured(self._multiply_all)

    def _stack(self, which: int | slice) -> _Stack:
        visible, hidden, B = self.visible[which], self.hidden[which], self.batch
        return _Stack(
            weights=self.weights[which], gradient=self.gradient[which], visible=visible, hidden=hidden,
            x=visible[..., :B, :], z=visible[..., B:, :], y0=hidden[..., :B, :], y1=hidden[..., B:, :],
        )  # fmt: skip

    def _multiply_all(self) -> None:
        self.backend.each(self.stacks, self._multiply)

    def _multiply(self, stack: _Stack, lane: int) -> None:
        gemm = self.backend.gemm
        gemm(stack.x, stack.weights, stack.y0)
        gemm(stack.y0, stack.weights, stack.z, transpose_b=True)
        gemm(stack.z, stack.weights, stack.y1)
        gemm(stack.visible, stack.hidden, stack.gradient, transpose_a=True)

    def state(self) -> Arrays:
        host, B, rows = self.backend.host, self.batch, self.rows
        visible, hidden = host(self.visible), host(self.hidden)
        return {
            "y0": hidden[:, rows],
            "z": visible[:, B + rows],
            "y1": hidden[:, B + rows],
            "gradient": host(self.gradient),
            "visible": visible,
            "hidden": hidden,
        }


class Cd1Products(WorkloadClass):
    """The bare matrix products of one CD-1 mini-batch, to tell the overhead of the workloads rbm and patches: their
    floor.

    For each of P patches, or for the one matrix of a dense RBM, P = 1, with W (V, H) and X (B, V):

        Y0 = X W (B, H)    Z = Y0 W^T (B, V)    Y1 = Z W (B, H)    G = [X; Z]^T [Y0; Y1] (V, H)

    Five products of 2 B V H FLOP a patch; the gradient's two are one over 2 B rows, as those workloads do it. Every
    array is a stack, (P, V, H), (P, 2B, V) or (P, 2B, H). No patch adds to another."""

    PARAMETERS: ClassVar = {"visible": "whole", "hidden": "whole", "batch": "whole", "patches": "whole"}
    TESTS: ClassVar = {
        "smoke": {"visible": 16, "hidden": 24, "batch": 8, "patches": 2},
        "odd": {"visible": 37, "hidden": 53, "batch": 29, "patches": 31},
        "large": {"visible": 320, "hidden": 320, "batch": 320, "patches": 1},
    }
    ASKS = ("each", "stack_bytes")

    program = _Products

    def inputs(self, case: Case, seed: int) -> Inputs:
        """W and X uniform in [-1, 1), W scaled by sqrt(3 / max(V, H)) so that repeated products neither grow nor
        vanish; `visible`: X, and below it what Z is written over; `rows`: the examples that are checked, the same of
        every patch.
        """
        P, V, H, B = _products_of(case)
        half = (3.0 / max(V, H)) ** 0.5
        return {
            "weights": Drawn((P, V, H), -half, half, seed),
            "visible": Drawn((P, 2 * B, V), -1.0, 1.0, [seed, 1]),
            "rows": checked_rows(B, seed),
        }

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        """The products in float64 for the checked examples, one patch at a time; the gradient from those of all
        examples, as they were seen."""
        weights, rows = inputs["weights"], inputs["rows"]
        y0 = [
            W.times(X[rows].astype(np.float64))
            for W, X in zip(weights, map(np.asarray, inputs["visible"]), strict=True)
        ]
        z = [W.transposed_times(y) for W, y in zip(weights, y0, strict=True)]
        y1 = [W.times(x) for W, x in zip(weights, z, strict=True)]
        return {
            "y0": np.stack(y0),
            "z": np.stack(z),
            "y1": np.stack(y1),
            "gradient": Product(seen["visible"].transpose(0, 2, 1), seen["hidden"]),
        }

    def flops(self, case: Case) -> float:
        """Five products of every patch, 10 P B V H."""
        P, V, H, B = _products_of(case)
        return 10.0 * P * B * V * H

    def traffic_bytes(self, case: Case) -> float:
        """Of every patch W read by three products, the gradient written; activations written once, read by what uses
        them, fp32."""
        P, V, H, B = _products_of(case)
        return 4.0 * P * (4 * V * H + B * (5 * V + 5 * H))

    def memory_bytes(self, case: Case) -> float:
        P, V, H, B = _products_of(case)
        return 4.0 * P * (2 * V * H + 2 * B * (V + H))


def _stacks_of(case: Case, most: float) -> list[int | slice]:
    """Patches, as many together as have visible units of both phases of at most so many bytes, as in the workload
    patches. One patch is named by its number, so that its arrays are matrices, as those of the workload rbm are."""
    P, V, _, B = _products_of(case)
    count = int(min(P, max(1.0, most / (4 * 2 * B * V))))  # not //, which makes nan of an accelerator's infinity
    return [first if count == 1 else slice(first, first + count) for first in range(0, P, count)]


def _products_of(case: Case) -> tuple[int, int, int, int]:
    sizes = case.parameters  # perhaps those of an RBM, whose products are asked for: one patch
    return int(sizes.get("patches", 1)), int(sizes["visible"]), int(sizes["hidden"]), int(sizes["batch"])


class _Inverted:
    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        (n,) = sizes(case, "size")
        self.backend, self.inputs = backend, inputs
        self.matrix = backend.array(inputs["matrix"])  # (n, n)
        self.factors = backend.factors(n)
        self.inverse = backend.zeros(n, n)

    def step(self) -> None:
        self.backend.inverse(self.matrix, self.factors, self.inverse)

    def state(self) -> Arrays:
        """A (X r), where X alone is the program's; and its own A, which must be as it was."""
        X, A = self.backend.host(self.inverse), self.inputs["matrix"]
        vectors = A.astype(np.float64) @ (X.astype(np.float64) @ self.inputs["random"])
        return {"vectors": vectors, "matrix": self.backend.host(self.matrix)}


class Inverse(WorkloadClass):
    """X = A^-1: the inverse of a matrix A (n, n), by LU factors with pivoting.

        A = P L U        2/3 n^3 FLOP
        X = U^-1 L^-1 P^T, or L U X = P^T        4/3 n^3 FLOP, or 2 n^3

    LAPACK's getrf and getri do the first, and 2 n^3 in all, as is counted; torch and cuSOLVER solve for the columns of
    the identity. Checked by random vectors r: A (X r) = r.
    """

    PARAMETERS: ClassVar = {"size": "whole"}
    TESTS: ClassVar = {"smoke": {"size": 64}, "odd": {"size": 67}, "large": {"size": 320}}
    PRECISIONS = ("fp32", "fp64")
    # None that the backend's `gemm` makes.
    PRODUCTS = False
    # LAPACK's workspace, which SciPy makes anew: 64 rows.
    ALLOCATES = ("fp64",)
    ASKS = ("factors", "inverse")

    program = _Inverted

    def inputs(self, case: Case, seed: int) -> Inputs:
        """A uniform in [-1, 1), and in every row one strong element, each in a column of its own but not on the
        diagonal: well conditioned, and rows must be exchanged. `random`: the vectors that it is checked by."""
        (n,), random = sizes(case, "size"), np.random.default_rng(seed)
        matrix = random.random((n, n), dtype=np.float32) * 2 - 1
        matrix[np.arange(n), random.permutation(n)] += np.float32(STRENGTH * n**0.5)
        return {"matrix": matrix, "random": random.standard_normal((n, VECTORS))}

    def reference(self, case: Case, inputs: Inputs, seen: Arrays) -> Expected:
        return {"vectors": inputs["random"], "matrix": np.zeros_like(inputs["matrix"])}

    def flops(self, case: Case) -> float:
        """2 n^3, LAPACK's count of getrf and getri together."""
        return 2.0 * sizes(case, "size")[0] ** 3

    def traffic_bytes(self, case: Case) -> float:
        """A read and X written, fp32."""
        return 8.0 * sizes(case, "size")[0] ** 2

    def memory_bytes(self, case: Case) -> float:
        """A, its factors, the identity and X, fp32."""
        return 16.0 * sizes(case, "size")[0] ** 2
