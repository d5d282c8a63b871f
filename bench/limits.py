"""How near our steps are to what bounds them. Prints ratios, never absolute times. Nothing else may run meanwhile.

./run python bench/limits.py cd1       a CD-1 step over its five bare products; every size and backend, 1 and all cores
./run python bench/limits.py patches   the overlapping-patches step over its five stacks of products, likewise
                                       (each in a process of its own, in turns: in one process, the products would wait
                                       for threads that still look for work after the step)
./run python bench/limits.py gpu       on a CUDA device, for every size of the RBM table and precision: a CD-1 step
                                       over its five bare products, and the step asked for operation by operation
                                       over the same as a graph
"""

import argparse
import gc
import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
from paired import Step, bind_to, count_repeats, in_fresh_process, paired_ratio, seconds_each

from respeed.analysis.estimates import estimate_cell
from respeed.backends import Backend, make_backend
from respeed.inputs.papers import load_paper
from respeed.kernels.blas import gemm
from respeed.machine.cpu import usable_cores
from respeed.machine.process import machine_lock
from respeed.measure.timing import seconds_now
from respeed.workloads import Workload, make_workload
from respeed.workloads.matmul import Cd1Products
from respeed.workloads.patches import Patches
from respeed.workloads.rbm import BATCHES, Rbm

BACKENDS = ("numpy", "torch")
GPU_PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
# Steps between two waits for the device: whole rounds of the mini-batches.
GPU_STEPS, GPU_PAIRS = 12 * BATCHES, 9
# Processes of each kind, in turns; and how long a step is timed in each, and how often at least.
TURNS, ALONE_SECONDS, LEAST = 5, 2.0, 5


def five_products(backend: Backend, workload: Any) -> Step:
    """The products of a CD-1 step, each by itself, on arrays of their own: X W, Y W^T, Z W, X^T Y, Z^T Y."""
    return _five(backend, (), workload.visible, workload.hidden, workload.batch)


def five_stacks(backend: Backend, workload: Patches) -> Step:
    """The same of every patch, one after another."""
    _, _, R, _ = workload.grid
    return _five(backend, (R * R,), workload.patch**2, workload.hidden, workload.batch)


def _five(backend: Backend, stack: tuple[int, ...], V: int, H: int, B: int) -> Step:
    # Small enough that values neither grow nor become denormal numbers, which take longer.
    random = np.random.default_rng(1)
    W = backend.array((random.random((*stack, V, H), dtype=np.float32) - 0.5) * np.float32(np.sqrt(12 / max(V, H))))
    X, Z = backend.array(random.random((*stack, B, V), dtype=np.float32)), backend.array(np.zeros((*stack, B, V)))
    Y, G = backend.array(np.zeros((*stack, B, H))), backend.array(np.zeros((*stack, V, H)))
    multiply: Callable[..., Any] = gemm
    if backend.framework == "torch":
        import torch

        def multiply(a: Any, b: Any, out: Any) -> Any:
            return (torch.mm if out.dim() == 2 else torch.bmm)(a, b, out=out)

    def five(W: Any, X: Any, Y: Any, Z: Any, G: Any) -> None:
        multiply(X, W, out=Y)
        multiply(Y, W.T if W.ndim == 2 else W.mT, out=Z)
        multiply(X.T if X.ndim == 2 else X.mT, Y, out=G)
        multiply(Z, W, out=Y)
        multiply(Z.T if Z.ndim == 2 else Z.mT, Y, out=G)

    def step() -> None:
        if stack and backend.framework == "numpy":
            for one in zip(W, X, Y, Z, G, strict=True):
                five(*one)
        else:
            five(W, X, Y, Z, G)
        backend.sync()

    return step


def time_alone(what: str, kind: str, name: str, threads: int) -> None:
    """Print the seconds of every case, by its name, as JSON: of its step, or of its products alone."""
    bind_to(threads)
    backend, seconds = make_backend(name, device="cpu", precision="fp32", threads=threads, seed=1), {}
    for case in load_paper("raina2009").experiments[EXPERIMENTS[what]].cases:
        workload = make_workload(case)
        step = backend.build(workload, 1).step if kind == "step" else PRODUCTS[what](backend, workload)
        repeats, times = count_repeats(step), list[float]()
        began = seconds_now()
        while len(times) < LEAST or seconds_now() - began < ALONE_SECONDS:
            times.append(seconds_each(step, repeats))
        # Beside neighbours, the fastest tenth is the quiet one.
        seconds[case.name] = float(np.quantile(times, 0.1))
        gc.collect()
    print(json.dumps(seconds))


def over_products(what: str) -> None:
    """Print each step's time over that of its products, the mean of turns with its interval."""
    for threads in sorted({1, len(usable_cores())}):
        for name in BACKENDS:
            times: dict[str, list[dict[str, float]]] = {"step": [], "products": []}
            for turn in range(TURNS):
                for kind in sorted(times, reverse=bool(turn % 2)):
                    words = [what, "--threads", str(threads), "--alone", kind, name]
                    times[kind].append(json.loads(in_fresh_process(words, threads, subprocess.PIPE)))
            for case in times["step"][0]:
                ratios = [one[case] / other[case] for one, other in zip(times["step"], times["products"], strict=True)]
                found = estimate_cell({0: ratios})
                print(f"  {threads} of {os.cpu_count()} cores, {case:<22} {name:<9} {found.value:.3f} "
                      f"({found.low:.3f} to {found.high:.3f})", flush=True)  # fmt: skip


def many_steps(backend: Backend, workload: Workload) -> Step:
    """Return GPU_STEPS steps of the workload, and the wait for them."""
    program = backend.build(workload, 1)

    def run() -> None:
        for _ in range(GPU_STEPS):
            program.step()
        backend.sync()

    return run


def on_gpu() -> None:
    for case in load_paper("raina2009").experiments["rbm"].cases:
        rbm = Rbm(**case.parameters)
        products = Cd1Products(visible=rbm.visible, hidden=rbm.hidden, batch=rbm.batch, patches=1)
        for precision in GPU_PRECISIONS:
            gc.collect()  # a program and its graphs hold one another: lets go of the last size's
            backend = make_backend("torch", device="cuda", precision=precision, threads=1, seed=1)
            by_operation, _ = backend.rehearsals()
            with by_operation:
                plain = many_steps(backend, rbm)
            ours = many_steps(backend, rbm)
            others = {
                "step / products": (ours, many_steps(backend, products)),
                "plain / graph": (plain, ours),
            }
            for name, (one, other) in others.items():
                print(f"  {case.name:<12} {precision} {name:<16} {paired_ratio(one, other, GPU_PAIRS)}", flush=True)


EXPERIMENTS = {"cd1": "rbm", "patches": "patches"}
PRODUCTS: dict[str, Callable[[Backend, Any], Step]] = {"cd1": five_products, "patches": five_stacks}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("comparison", choices=[*PRODUCTS, "gpu"])
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        kind, name = options.alone
        time_alone(options.comparison, kind, name, options.threads)
    elif options.comparison == "gpu":
        with machine_lock(None, print):
            on_gpu()
    else:
        over_products(options.comparison)


if __name__ == "__main__":
    main()
