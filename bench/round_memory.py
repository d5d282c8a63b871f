"""How much memory a round takes over what its imports take. Run by bench/limits.py memory.

Every case is measured in a fresh process by the round's own measure_case, on each CPU profile. What the process holds
after its imports is told when it has measured the smallest smoke case: compiled kernels are then loaded, libraries have
their buffers. From there on the peak of its resident memory is read when the inputs are there, when the program is
built, and at the end: what each added to the peak is its share, and the shares add up to the whole.

Everything is printed in units of the weights and the buffers of two mini-batches (`needed_bytes`).
"""

import argparse
import ctypes
import resource
import sys
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import replace
from functools import wraps
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from paired import in_fresh_process

from respeed.inputs.papers import load_paper
from respeed.inputs.profiles import load_profiles
from respeed.machine.process import bind
from respeed.model.paper import Case
from respeed.paths import RoundId
from respeed.protocol import SMOKE
from respeed.schedule.availability import resolve_threads, why_not
from respeed.schedule.spec import RoundSpec, make_spec

# A round's peak is at most so many times what its program cannot do without.
ALLOWED = 1.3
EXPERIMENTS = ("rbm", "patches")

# A product this large has its library touch the buffers that it packs matrices into.
WARM = 1024

_STATUS, _FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def needed_bytes(case: Case) -> float:
    """fp32 weights and biases, and of two mini-batches the examples and their reconstructions, and the hidden units
    three times: the probabilities of both phases and the sample.

    4 (V H + V + H + 2 B (2 V + 3 H)); of patches, V H and H stand for all patches together, and V for the image.
    """
    sizes = {name: int(value) for name, value in case.parameters.items() if name != "learning_rate"}
    if case.workload == "patches":
        visible, pixels = sizes["side"] ** 2, sizes["patch"] ** 2
        hidden = ((sizes["side"] - sizes["patch"]) // sizes["stride"] + 1) ** 2 * sizes["hidden"]
    else:
        visible = pixels = sizes["visible"]
        hidden = sizes["hidden"]
    return 4.0 * (pixels * hidden + visible + hidden + 2 * sizes["batch"] * (2 * visible + 3 * hidden))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", nargs=3, metavar=("EXPERIMENT", "CASE", "PROFILE"), help="in this process")
    parser.set_defaults(run=lambda options: _measure(*options.only) if options.only else _measure_all())


def _measure_all() -> None:
    print(f"peak over imports / (weights + buffers of two mini-batches), at most {ALLOWED} allowed, and its shares")
    profiles = [one for one in load_profiles().values() if one.is_cpu and one.precision == "fp32" and not why_not(one)]
    for experiment in EXPERIMENTS:
        for case in load_paper("raina2009").experiments[experiment].cases:
            print(f"  {case.name}, {needed_bytes(case) / 1e6:.0f} MB", flush=True)
            for profile in profiles:
                arguments = ["memory", "--only", experiment, case.name, profile.name]
                in_fresh_process(arguments, resolve_threads(profile)[0])


def _measure(experiment: str, name: str, profile: str) -> None:
    """Measure one case and print its line. The environment is that of a measurement already."""
    spec = make_spec(RoundId("here", "raina2009", experiment, profile, 1), seed=1)
    bind(spec.cpus)
    from respeed.backends import make_backend

    (case,) = (case for case in spec.cases if case.name == name)
    backend = make_backend(spec.profile.backend, device="cpu", precision="fp32", threads=spec.threads, seed=1)
    round_of = _round(spec, backend)
    round_of(load_paper("raina2009").experiments[experiment].smoke_cases[0])
    _settle(backend)
    before, exact = _resident_bytes(), _forget_peak()
    peaks: list[int] = []
    _watch(case.workload, peaks)
    round_of(case)
    inputs, program, everything = ((peak - before) / needed_bytes(case) for peak in (*peaks, _peak_bytes()))
    print(
        f"    {profile:<13} {everything:5.2f} {'' if everything <= ALLOWED else 'too much':<9}"
        f"inputs {inputs:.2f}, program {program - inputs:.2f}, check and steps {everything - program:.2f}"
        f"{'' if exact else ' (at most: the peak of the imports cannot be taken away here)'}",
        flush=True,
    )


def _round(spec: RoundSpec, backend: Any) -> Callable[[Case], None]:
    """What measures a case as a round does, few steps of it: they add nothing to the peak. A case that cannot be
    measured ends the process."""
    from respeed.measure.case import make_bench, measure_case

    bench, _ = make_bench(backend)

    def measure(case: Case) -> None:
        with redirect_stderr(StringIO()):  # how long the steps took
            facts = measure_case(replace(spec, cases=(case,), timing=SMOKE), 0, bench)
        if facts["status"] != "measured":
            sys.exit(f"{case.name}: {facts['reason']}")

    return measure


def _settle(backend: Any) -> None:
    """Let NumPy's library, which the check uses, and the backend's have their buffers, and give back what is free: what
    the process keeps for itself would otherwise serve the case, and not be seen."""
    square = np.ones((WARM, WARM))
    square @ square
    on_backend = backend.array(square)
    backend.gemm(on_backend, on_backend, backend.array(square))
    del square, on_backend
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)


def _watch(workload: str, peaks: list[int]) -> None:
    """Note the peak when the workload's inputs are there, and when its program is built."""
    from respeed.workloads import load_workload

    module: Any = load_workload(workload)
    for name in ("inputs", "build"):
        setattr(module, name, _then_note(getattr(module, name), peaks))


def _then_note(function: Callable[..., Any], peaks: list[int]) -> Callable[..., Any]:
    @wraps(function)
    def noted(*arguments: Any) -> Any:
        result = function(*arguments)
        peaks.append(_peak_bytes())
        return result

    return noted


def _resident_bytes() -> int:
    return int(psutil.Process().memory_info().rss)


def _peak_bytes() -> int:
    """The most that this process ever had in memory, or since the peak was last forgotten."""
    try:
        (line,) = (line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _forget_peak() -> bool:
    """Begin a new peak at what is resident now; False where the kernel does not allow it."""
    try:
        _FORGET.write_text("5")
    except OSError:
        return False
    return True
