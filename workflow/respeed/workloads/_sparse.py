"""What the sparse-coding workloads share: the problem, the timed pass in two parts, and its check.

    min over S, B of 1/2 ||X - S B||^2 + gamma ||S||_1, every basis of norm at most 1

X (m, k): an example a row, natural-image patches; B (n, k): a basis a row; S (m, n): coefficients. A pass goes through
the patches in batches: coefficients of a batch for the bases as they are, then the bases for these coefficients.

`timed` of a batch's examples are coded in a step; the coefficients of the others were computed beforehand, so that the
update of the bases has the whole batch whatever is timed. The timed ones are drawn evenly from all, ordered by how many
nonzero coefficients they have. A batch that is timed whole hands its bases on to the next batch of the pass.

Coefficients are checked by the lasso in plain NumPy and float64.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

import numpy as np

from respeed.backends import Array, BackendContract
from respeed.data.natural_patches import natural_patches
from respeed.kernels.compiled import workspace
from respeed.kernels.sparse import descend
from respeed.model.paper import Case
from respeed.workloads import Arrays, Inputs, Product
from respeed.workloads._common import checked_rows

# A solution whose duality gap is at most this share of its objective is the optimum, as far as fp32 can tell.
GAP = 1e-8
MAX_STEPS = 5000
# Bases that depend on one another share what they explain between them; the gap tells if this were too much.
RIDGE = 1e-10


def objective(x: np.ndarray, bases: np.ndarray, coefficients: np.ndarray, penalty: float) -> np.ndarray:
    """1/2 ||x - s B||^2 + gamma ||s||_1 of every example, float64."""
    s = coefficients.astype(np.float64)
    rest = x - s @ bases.astype(np.float64)
    out: np.ndarray = 0.5 * (rest**2).sum(axis=1) + penalty * np.abs(s).sum(axis=1)
    return out


def duality_gap(x: np.ndarray, bases: np.ndarray, coefficients: np.ndarray, penalty: float) -> np.ndarray:
    """How far the objective of every example can be above the optimum, at most.

    For every v with |B v| <= gamma, 1/2 ||x||^2 - 1/2 ||x - v||^2 is a lower bound; v is the rest x - s B, scaled.
    """
    bases = bases.astype(np.float64)
    rest = x - coefficients.astype(np.float64) @ bases
    largest = np.abs(rest @ bases.T).max(axis=1, keepdims=True)
    v = rest * np.minimum(1.0, penalty / np.maximum(largest, 1e-300))
    bound = 0.5 * (np.square(x, dtype=np.float64).sum(axis=1) - ((x - v) ** 2).sum(axis=1))
    out: np.ndarray = objective(x, bases, coefficients, penalty) - bound
    return out


def optimum(x: np.ndarray, bases: np.ndarray, start: np.ndarray, penalty: float) -> np.ndarray:
    """The minimisers (m, n) in float64, each with its duality gap closed; NaN for an example where that failed.

    `start` only shortens the way: whatever it is, the gap proves the result.
    """
    wide = bases.astype(np.float64)
    gram = wide @ wide.T
    correlations = x.astype(np.float64) @ wide.T
    found = np.stack([_one(gram, q, s, penalty) for q, s in zip(correlations, start, strict=True)])
    gap = duality_gap(x, wide, found, penalty)
    found[gap > GAP * np.maximum(objective(x, wide, found, penalty), 1e-12)] = np.nan
    return found


def _one(gram: np.ndarray, q: np.ndarray, start: np.ndarray, penalty: float) -> np.ndarray:
    """Solve on the support with its signs held; what changes its sign leaves on the way, the worst violation joins."""
    # Much more than half of the coefficients is no start: their piece of G may be singular.
    s = start.astype(np.float64) if 2 * np.count_nonzero(start) <= len(start) else np.zeros(len(start))
    signs = np.sign(s)
    for _ in range(MAX_STEPS):
        support = np.flatnonzero(signs)
        if len(support):
            part = gram[np.ix_(support, support)]
            part.flat[:: len(support) + 1] += RIDGE
            goal = np.linalg.solve(part, q[support] - penalty * signs[support])
            here = s[support]
            wrong = goal * signs[support] <= 0
            if wrong.any():
                # As far towards the goal as all signs hold: the objective falls all the way.
                with np.errstate(divide="ignore", invalid="ignore"):
                    reach = np.where(wrong, np.abs(here) / (np.abs(here) + np.abs(goal)), np.inf)
                reach = np.nan_to_num(reach, nan=0.0, posinf=np.inf)
                first = int(np.argmin(reach))
                s[support] = here + reach[first] * (goal - here)
                s[support[first]] = signs[support[first]] = 0.0
                continue
            s[support] = goal
        left = q - gram @ s
        left[signs != 0] = 0.0
        worst = int(np.argmax(np.abs(left)))
        if abs(left[worst]) <= penalty * (1 + 1e-10):
            break
        signs[worst] = np.sign(left[worst])
    return s


# The patches and bases are the same in every round: the penalty was found on them.
DATA_SEED = 2009
# The share of nonzero coefficients may be off by so much, 0.2 points; or by so many, where there are few.
SHARE_MARGIN, COUNT_MARGIN = 0.002, 12
# A coefficient below this share of the penalty counts as zero: an algorithm that goes a part of the way at a time
# shrinks what is to become zero, and leaves a trace of it.
NEGLIGIBLE = 1e-3
CHECKED_BASES = 16


class SparseProgram(ABC):
    """One pass's step. `parts` are its two halves, which are timed apart."""

    def __init__(self, backend: BackendContract, case: Case, inputs: Inputs) -> None:
        n, k = inputs["bases"].shape
        self.backend, self.penalty = backend, case.parameters["penalty"]
        self.rows, self.timed = inputs["rows"], int(case.parameters["timed"])
        self.first, self.first_bases = inputs["x"][0], inputs["bases"]
        self.x = [backend.array(batch) for batch in inputs["x"]]
        self.start_bases, self.start_gram = backend.array(inputs["bases"]), backend.array(inputs["gram"])
        self.bases, self.gram = backend.array(inputs["bases"]), backend.array(inputs["gram"])
        self.previous = backend.zeros(n, k)
        self.coefficients = backend.array(inputs["coefficients"])  # (m, n), of which the first `timed` are solved for
        self.correlations = backend.zeros(self.timed, n)  # X B^T
        self.second, self.cross = backend.zeros(n, n), backend.zeros(n, k)  # S^T S and S^T X
        self.count = 0
        # A pass starts from the same bases as the last one did, so that all are alike; who learns goes on instead.
        self.restart = True

    @property
    def parts(self) -> Mapping[str, Callable[[], None]]:
        return {"coefficients": self.code, "bases": self.learn}

    def step(self) -> None:
        self.code()
        self.learn()

    def code(self) -> None:
        """The coefficients of the timed examples, from zero."""
        x, bases, gram = self._now()
        self.backend.gemm(x[: self.timed], bases, self.correlations, transpose_b=True)
        self.solve(gram, self.correlations, self.coefficients[: self.timed], x[: self.timed])

    def learn(self) -> None:
        """The bases for the coefficients of the whole batch, and their Gram matrix, with which the next one begins."""
        x, bases, _ = self._now()
        self.backend.gemm(self.coefficients, self.coefficients, self.second, transpose_a=True)
        self.backend.gemm(self.coefficients, x, self.cross, transpose_a=True)
        self.improve(bases)
        self.backend.gemm(self.bases, self.bases, self.gram, transpose_b=True)
        self.count += 1

    def _now(self) -> tuple[Array, Array, Array]:
        """This batch, and the bases and Gram matrix it is coded with."""
        place = self.count % len(self.x)
        first = self.count == 0 or (place == 0 and self.restart)
        return self.x[place], self.start_bases if first else self.bases, self.start_gram if first else self.gram

    @abstractmethod
    def solve(self, gram: Array, correlations: Array, coefficients: Array, x: Array) -> None:
        """coefficients <- the minimisers for correlations = x B^T and gram = B B^T."""

    @abstractmethod
    def improve(self, bases: Array) -> None:
        """self.bases <- better bases for S^T S in self.second and S^T X in self.cross, starting at `bases`."""

    def state(self) -> Arrays:
        host = self.backend.host
        coefficients = host(self.coefficients)
        found = coefficients[self.rows].astype(np.float64)
        return {
            "objective": objective(self.first[self.rows], self.first_bases, found, self.penalty),
            "found": found,
            "coefficients": coefficients,
            "share": np.array([(np.abs(coefficients[: self.timed]) > NEGLIGIBLE * self.penalty).mean()]),
            "second": host(self.second),
            "cross": host(self.cross),
            "learned": host(self.bases),
            "gram_after": host(self.gram),
            **self.learned(),
        }

    def left_over(self) -> float:
        """The objective of the last step's batch over that of no bases at all, 1/2 ||X||^2."""
        return self._share_left(self.x[(self.count - 1) % len(self.x)], self.bases)

    def left_over_now(self) -> float:
        """The same between the two halves of a step."""
        x, bases, _ = self._now()
        return self._share_left(x, bases)

    def _share_left(self, x: Array, bases: Array) -> float:
        host = self.backend.host
        found = objective(host(x), host(bases), host(self.coefficients), self.penalty)
        return float(2 * found.sum() / np.square(host(x), dtype=np.float64).sum())

    def pictures(self) -> np.ndarray:
        """The bases as pictures."""
        side = round(self.first.shape[1] ** 0.5)
        return self.backend.host(self.bases).reshape(-1, side, side)

    def learned(self) -> Arrays:
        """What more the check of the bases has to see."""
        return {}


def inputs(case: Case, seed: int) -> Inputs:
    """Patches (batches, m, k), bases (n, k) that are patches too, scaled to norm 1, their Gram matrix, the coefficients
    of the first batch, and the `rows` that are checked."""
    return {**_problem(tuple(sorted(case.parameters.items()))), "rows": _rows(case, seed)}


def _rows(case: Case, seed: int) -> np.ndarray:
    return checked_rows(int(case.parameters["timed"]), seed)


@functools.lru_cache(maxsize=1)
def _data(bases: int, side: int, patches: int) -> tuple[np.ndarray, np.ndarray]:
    """The patches, and other ones to begin with as bases."""
    drawn = natural_patches(bases + patches, side, DATA_SEED)
    return drawn[bases:], drawn[:bases]


# The algorithms of one sparsity follow one another in no order: their common problem is set up once.
@functools.lru_cache(maxsize=4)
def _problem(parameters: tuple[tuple[str, float], ...]) -> dict[str, np.ndarray]:
    given = dict(parameters)
    n, side, patches, batch, timed = (int(given[name]) for name in ("bases", "side", "patches", "batch", "timed"))
    x, bases = _data(n, side, patches)
    gram = bases @ bases.T
    coefficients = np.zeros((batch, n), np.float32)
    if timed == batch:
        batches = x[: patches // batch * batch].reshape(-1, batch, x.shape[1])
        return {"x": batches, "bases": bases, "gram": gram, "coefficients": coefficients}
    first = x[:batch]
    descend(0, batch, gram, first @ bases.T, given["penalty"], coefficients, workspace(n))
    # Every (batch / timed)-th by the number of nonzero coefficients, and then the others.
    ordered = np.argsort(np.count_nonzero(coefficients, axis=1), kind="stable")
    picked = ordered[(np.arange(timed) * batch + batch // 2) // timed]
    order = np.concatenate([picked, np.setdiff1d(ordered, picked)])
    return {"x": first[order][None], "bases": bases, "gram": gram, "coefficients": coefficients[order]}


def expected(case: Case, inputs: Inputs, seen: Arrays, excess: float = 0.0) -> dict[str, np.ndarray | Product]:
    """What every algorithm must have reached, in float64: the optimal objective of the checked examples, the share of
    nonzero coefficients that the case is named after, and the three products. Of an algorithm whose rule stops it short
    of the optimum, an example's objective may be above it by the share `excess`."""
    x, bases = inputs["x"][0], inputs["bases"]
    best = optimum(x[inputs["rows"]], bases, seen["found"], case.parameters["penalty"])
    least = objective(x[inputs["rows"]], bases, best, case.parameters["penalty"])
    wanted, few = case.parameters["nonzero"], COUNT_MARGIN / (case.parameters["timed"] * case.parameters["bases"])
    margin = max(SHARE_MARGIN, few)
    return {
        "objective": np.clip(seen["objective"], least, (1 + excess) * least),
        "share": np.clip(seen["share"], wanted - margin, wanted + margin),
        "second": Product(seen["coefficients"].T, seen["coefficients"]),
        "cross": Product(seen["coefficients"].T, x),
        "gram_after": Product(seen["learned"], seen["learned"].T),
    }


def part_weights(case: Case) -> Mapping[str, float]:
    """How often each part of a step counts: the examples that were not timed take as long as those that were."""
    return {"coefficients": case.parameters["batch"] / case.parameters["timed"], "bases": 1.0}


def traffic_bytes(case: Case) -> float:
    """Examples, coefficients, bases and square matrices once each, fp32: the least that any algorithm touches."""
    n, k, m = _sizes(case)
    return 4.0 * (m * k + m * n + 2 * n * k + 2 * n * n)


def memory_bytes(case: Case) -> float:
    """Examples, coefficients and correlations, bases three times, and the square matrices, fp32."""
    n, k, m = _sizes(case)
    batches = case.parameters["patches"] / m if case.parameters["timed"] == m else 1
    return 4.0 * (batches * m * k + 4 * m * n + 5 * n * k + 3 * n * n)


def _sizes(case: Case) -> tuple[int, int, int]:
    """Bases, pixels, examples of a batch."""
    return int(case.parameters["bases"]), int(case.parameters["side"]) ** 2, int(case.parameters["batch"])


def checked_bases(count: int) -> np.ndarray:
    """Rows of the bases that the reference computes."""
    return checked_rows(count, CHECKED_BASES)
