"""How near our steps are to what bounds them. Prints ratios, never absolute times. Nothing else may run meanwhile.

./run python bench/limits.py cd1       a CD-1 step over its five bare products; every size and backend, 1 and all cores
./run python bench/limits.py patches   the overlapping-patches step over its five stacks of products, likewise
./run python bench/limits.py gpu       on a CUDA device, for every size of the RBM table and precision: a CD-1 step
                                       over its five bare products, the step asked for operation by operation over the
                                       same as a graph, and steps on examples that come from pinned memory meanwhile
"""

import argparse
import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from paired import Comparison, Step, compare, paired_ratio

from respeed.backends import BackendContract, make_backend
from respeed.inputs.papers import load_paper
from respeed.machine.lock import machine_lock
from respeed.model.paper import Case
from respeed.workloads import load_workload
from respeed.workloads.patches import Geometry
from respeed.workloads.rbm import CHUNK, CHUNKS

BACKENDS = ("openblas", "torch")
GPU_PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
# Steps between two waits for the device: whole rounds of both the mini-batches and the chunks of streamed ones.
GPU_STEPS, GPU_PAIRS = 2 * CHUNK * CHUNKS, 9


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


def many_steps(backend: BackendContract, workload: str, case: Case) -> Step:
    """Return GPU_STEPS steps of the workload, and the wait for them."""
    module: Any = load_workload(workload)
    program = module.build(backend, case, module.inputs(case, 1))

    def run() -> None:
        for _ in range(GPU_STEPS):
            program.step()
        backend.sync()

    return run


def on_gpu() -> None:
    for case in load_paper("raina2009").experiments["rbm"].cases:
        for precision in GPU_PRECISIONS:
            gc.collect()  # a program and its graphs hold one another: lets go of the last size's
            backend, plain = (
                make_backend("torch", device="cuda", precision=precision, threads=1, seed=1) for _ in range(2)
            )
            plain.captured = lambda step: step  # type: ignore[method-assign]
            ours = many_steps(backend, "rbm", case)
            others = {
                "step / products": (ours, many_steps(backend, "cd1_products", case)),
                "plain / graph": (many_steps(plain, "rbm", case), ours),
                "with copies": (many_steps(backend, "rbm_streamed", case), ours),
            }
            for name, (one, other) in others.items():
                print(f"  {case.name:<12} {precision} {name:<16} {paired_ratio(one, other, GPU_PAIRS)}", flush=True)


COMPARISONS: dict[str, Comparison] = {
    "cd1": lambda threads: over_products("rbm", five_products, threads),
    "patches": lambda threads: over_products("patches", five_stacks, threads),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("comparison", choices=[*COMPARISONS, "gpu"])
    parser.add_argument("--threads", type=int, help="compare in this process, which has the environment for it")
    options = parser.parse_args()
    if options.comparison == "gpu":
        with machine_lock():
            on_gpu()
    else:
        compare(options.comparison, COMPARISONS, options.threads)


if __name__ == "__main__":
    main()
