"""Count the iterations of parallel coordinates in sparse coding: those of the authors' program and of ours.

./run python bench/iterations.py           at the sizes of raina2009's table, some minutes; --penalty 0.6 for theirs

A line a batch: iterations of a patch, mean and 90th percentile, and the share of coefficients that are not zero.
What is counted is the algorithm's, whatever the time: the same on every machine up to rounding. Theirs also with our
stop rule, so that what the start and what the rule make of the difference can be told apart.
"""

import argparse

import numpy as np

from respeed.backends import make_backend
from respeed.inputs.papers import load_paper
from respeed.model.paper import Case
from respeed.workloads import load_workload, sparse_coding
from respeed.workloads.sparse_coding import LEAST, NEGLIGIBLE

EPOCHS = {"sparse_parallel": 1, "sparse_published": 3}


def count(case: Case, label: str, *, our_rule: bool) -> None:
    """Learn for the epochs of the case's algorithm, and say what each batch took."""
    backend = make_backend("torch", device="cpu", precision="fp32", threads=2, seed=1)
    program = load_workload(case.workload).build_learner(backend, case)  # type: ignore[attr-defined]
    if our_rule:
        program.least, program.least_of_norm = LEAST, 0.0
    going_on: list[int] = []
    iterate = program._iterate
    program._iterate = lambda gram, diagonal, rows: (going_on.append(rows), iterate(gram, diagonal, rows))
    batches = len(program.x)
    for batch in range(EPOCHS[case.workload] * batches):
        going_on.clear()
        program.code()
        share = (np.abs(backend.host(program.coefficients)) > NEGLIGIBLE * program.penalty).mean()
        # Of so many patches each iteration was one: the last of them took `len(going_on)`.
        slowest = np.searchsorted(-np.array(going_on), -0.1 * program.timed, side="right")
        print(
            f"{case.name} {label}: epoch {batch // batches + 1} batch {batch % batches + 1}: "
            f"{sum(going_on) / program.timed:.2f} iterations, 90 % of patches {slowest}; {share:.2%} nonzero",
            flush=True,
        )
        program.learn()


def main() -> None:
    given = argparse.ArgumentParser(description="Iterations of parallel coordinates.")
    given.add_argument("--penalty", type=float, help="theirs alone, at this penalty")
    penalty = given.parse_args().penalty
    # Whoever is done leaves at once: every product is of those alone that go on.
    sparse_coding.ASK_EVERY, sparse_coding.CLOSE_RANKS = 1, 1.0
    for case in load_paper("raina2009").experiments["sparse-coding"].cases:
        if case.workload == "sparse_parallel" and penalty is None:
            count(Case(case.name, case.workload, {**case.parameters, "patches": 5000}), "ours", our_rule=True)
        if case.workload == "sparse_published":
            one = Case(case.name, case.workload, {**case.parameters, "penalty": penalty or case.parameters["penalty"]})
            count(one, "theirs", our_rule=False)
            count(one, "theirs with our stop rule", our_rule=True)


if __name__ == "__main__":
    main()
