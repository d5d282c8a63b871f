"""How near our steps are to what bounds them. Prints ratios, never absolute times. Nothing else may run meanwhile.

./run python bench/limits.py cd1       a CD-1 step over its five bare products; every size and backend, 1 and all cores
./run python bench/limits.py patches   the overlapping-patches step over its five stacks of products, likewise
./run python bench/limits.py memory    a round's peak over what its imports take, against 1.3 x (weights + two batches)
./run python bench/limits.py run       which share of the last run was spent in timed blocks, from its records
./run python bench/limits.py scaling   a step's cost by V x H, batch and threads: facts as JSON, and docs/scaling.svg
"""

import argparse
from collections.abc import Callable, Iterator

import numpy as np
import round_memory
import run_share
import step_scaling
from paired import Comparison, Step, compare, paired_ratio

from respeed.backends import BackendContract, make_backend
from respeed.inputs.papers import load_paper
from respeed.model.paper import Case
from respeed.workloads import load_workload
from respeed.workloads.patches import Geometry

BACKENDS = ("openblas", "torch")


def five_products(backend: BackendContract, case: Case) -> Step:
    """The products of a CD-1 step, each by itself, on arrays of their own: X W, Y W^T, Z W, X^T Y, Z^T Y."""
    V, H, B = (int(case.parameters[name]) for name in ("visible", "hidden", "batch"))
    return _five(backend, (), V, H, B)


def five_stacks(backend: BackendContract, case: Case) -> Step:
    """The same of every patch, as stacks."""
    geometry = Geometry(case)
    return _five(backend, (geometry.patches,), geometry.pixels, geometry.hidden, geometry.batch)


def _five(backend: BackendContract, stack: tuple[int, ...], V: int, H: int, B: int) -> Step:
    # Small enough that values neither grow nor become denormal numbers, which take longer.
    random = np.random.default_rng(1)
    weights = backend.array((random.random((*stack, V, H), dtype=np.float32) - 0.5) * np.sqrt(12 / max(V, H)))
    gradient = backend.zeros(*stack, V, H)
    x, z = backend.array(random.random((*stack, B, V), dtype=np.float32)), backend.zeros(*stack, B, V)
    y = backend.zeros(*stack, B, H)

    def step() -> None:
        backend.gemm(x, weights, y)
        backend.gemm(y, weights, z, transpose_b=True)
        backend.gemm(x, y, gradient, transpose_a=True)
        backend.gemm(z, weights, y)
        backend.gemm(z, y, gradient, transpose_a=True)
        backend.sync()

    return step


def _steps(experiment: str, threads: int) -> Iterator[tuple[str, Case, BackendContract, Step]]:
    for case in load_paper("raina2009").experiments[experiment].cases:
        workload = load_workload(case.workload)
        inputs = workload.inputs(case, 1)
        for name in BACKENDS:
            backend = make_backend(name, device="cpu", precision="fp32", threads=threads, seed=1)
            program = workload.build(backend, case, inputs)
            yield name, case, backend, program.step


def over_products(experiment: str, products: Callable[[BackendContract, Case], Step], threads: int) -> None:
    for name, case, backend, step in _steps(experiment, threads):
        print(f"  {case.name:<22} {name:<9} {paired_ratio(step, products(backend, case))}", flush=True)


COMPARISONS: dict[str, Comparison] = {
    "cd1": lambda threads: over_products("rbm", five_products, threads),
    "patches": lambda threads: over_products("patches", five_stacks, threads),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, dest="command")
    for name in COMPARISONS:
        one = commands.add_parser(name)
        one.add_argument("--threads", type=int, help="compare in this process, which has the environment for it")
        one.set_defaults(run=lambda options: compare(options.command, COMPARISONS, options.threads))
    round_memory.add_options(commands.add_parser("memory"))
    run_share.add_options(commands.add_parser("run"))
    step_scaling.add_options(commands.add_parser("scaling"))
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
