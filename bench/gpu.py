"""How near the RBM's steps on a GPU are to what bounds them. Prints ratios, never absolute times. Nothing else may run.

./run python bench/gpu.py            every size of the RBM table in every precision:
    step / products   a step over its bare products (the workload cd1_products), both as graphs
    graph / plain     a step as a graph over the same operations asked for one by one
    with copies       steps on examples that come from pinned memory meanwhile, over those on examples on the device
    and of a plain profile of graphs: the share of the device's time that products have, and that nothing runs
./run python bench/gpu.py --minutes 3    as far as that gets, and 75 if not far; fp32 and the largest size first
./run python bench/gpu.py --smoke        the smallest size of the smoke preset: shows that it works
"""

import argparse
import gc
import os
import sys
from collections.abc import Iterable
from functools import partial
from itertools import product
from typing import Any

from paired import Step, paired_ratio

from respeed.backends import BackendContract, make_backend
from respeed.backends._torch import is_out_of_memory
from respeed.errors import NotMeasurable
from respeed.inputs.papers import load_paper
from respeed.machine.accelerators import is_pretended
from respeed.measure.lock import machine_lock
from respeed.model.paper import Case
from respeed.timing.clock import seconds_now
from respeed.workloads import load_workload
from respeed.workloads.rbm import CHUNK, CHUNKS

PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
# Only where it is named: most GPUs take 32 or 64 times as long in it.
SLOW = ("fp64",)
# Steps between two waits for the device: whole rounds of both the mini-batches and the chunks of streamed ones.
STEPS = 2 * CHUNK * CHUNKS
PAIRS = 9
# Words in the names of kernels that multiply, of cuBLAS (nvjet, xmma, cutlass) and of AMD's libraries (Cijk).
PRODUCTS = ("gemm", "gemv", "nvjet", "xmma", "cutlass", "cijk")


def make(precision: str) -> BackendContract:
    return make_backend("torch", device="cuda", precision=precision, threads=1, seed=1)


def many_steps(backend: BackendContract, workload: str, case: Case) -> Step:
    """STEPS steps of the workload, and the wait for them."""
    module: Any = load_workload(workload)
    program = module.build(backend, case, module.inputs(case, 1))

    def run() -> None:
        for _ in range(STEPS):
            program.step()
        backend.sync()

    return run


def compare(case: Case, precision: str) -> None:
    """A line of ratios for one size in one precision, with their 95 % intervals."""
    gc.collect()  # a program and its graphs hold one another: lets go of the last size's
    backend, plain = make(precision), make(precision)
    plain.captured = lambda step: step
    ours = many_steps(backend, "rbm", case)
    ratio = partial(paired_ratio, ours=ours, pairs=PAIRS)
    print(f"  {case.name:<12} {precision}", flush=True)
    print(f"    step / products   {paired_ratio(ours, many_steps(backend, 'cd1_products', case), PAIRS)}", flush=True)
    print(f"    plain / graph     {ratio(many_steps(plain, 'rbm', case))}", flush=True)
    print(f"    with copies       {ratio(many_steps(backend, 'rbm_streamed', case))}", flush=True)
    print(f"    {share_of_products(ours)}", flush=True)


def share_of_products(run: Step) -> str:
    """Of the device's time from the first kernel to the last, how much products have, others have, and none has."""
    import torch

    if is_pretended():  # which has no time of its own, and nothing that the profiler could read
        return "no profile: the device is pretended"
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run()
    kernels = [event for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    if not kernels:
        return "the profiler saw no kernel"
    spans = [(event.time_range.start, event.time_range.end, event.name.lower()) for event in kernels]
    whole = max(end for _, end, _ in spans) - min(start for start, _, _ in spans)
    multiplying = covered((start, end) for start, end, name in spans if any(word in name for word in PRODUCTS))
    busy = covered((start, end) for start, end, _ in spans)
    shares = (multiplying / whole, (busy - multiplying) / whole, 1 - busy / whole)
    return "products {:.1%}, others {:.1%}, nothing runs {:.1%}, {:.1f} kernels a step".format(
        *shares, len(spans) / STEPS
    )


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """The length of the union of intervals."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no comparison after so long")
    offered = (*PRECISIONS, *SLOW)
    parser.add_argument("--precision", choices=offered, action="append", help="only this one; may be repeated")
    parser.add_argument("--smoke", action="store_true", help="the smallest size of the smoke preset")
    options = parser.parse_args()
    try:
        print(f"{make('fp32').describe()['accelerator']}: ratios of times, with 95 % intervals", flush=True)
    except NotMeasurable as reason:
        print(f"bench/gpu.py: nothing to compare: {reason}", file=sys.stderr)
        return 1
    deadline = seconds_now() + 60 * options.minutes
    table = load_paper("raina2009").experiments["rbm"]
    cases = table.smoke_cases[:1] if options.smoke else table.cases[::-1]
    ended = 0
    for precision, case in product(options.precision or PRECISIONS, cases):
        if seconds_now() > deadline:
            print(f"  {case.name} {precision}: not compared, the minutes are up", flush=True)
            ended = ended or os.EX_TEMPFAIL
            continue
        try:
            with machine_lock():
                compare(case, precision)
        except (NotMeasurable, RuntimeError) as error:
            print(f"  {case.name} {precision}: not compared: {' '.join(str(error).split())[:200]}", flush=True)
            if not isinstance(error, NotMeasurable) and not is_out_of_memory(error):
                ended = 1
    return ended


if __name__ == "__main__":
    sys.exit(main())
