"""The measuring process: reads the specifications of its rounds from standard input, writes a JSON line an event. And
its environment, which libraries read while they are loaded: it must be set before.

Run as `python -m respeed.measure.worker` by `respeed.measure.turn`. Imports numerical libraries only after it has bound
itself to its cores.
"""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from respeed.errors import refusal_anywhere
from respeed.machine.own_packages import own_path
from respeed.machine.process import bind, die_first_for_memory, die_with_parent, ignore_interrupts, private_stdout

# All that this process writes to a disk.
KERNELS = "what is kept of compiled kernels"

# glibc hands large blocks back to the kernel at every free by default, and each step then pays page faults for them
# (1,700 to 2,040 a step were seen, +26 % time). These keep what was once allocated.
# Huge pages make the first touch of what is allocated cheap: a round of rbm started 3 s earlier, its steps unchanged.
MALLOC = {
    "MALLOC_TRIM_THRESHOLD_": "4294967295",
    "MALLOC_MMAP_THRESHOLD_": "1073741824",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}

# OpenBLAS's threads look for work for 2^26 cycles (25 ms) after a product before they sleep, and keep the compiled
# steps that come next waiting for a core: with 2^20 cycles still for 3 % of their time, with 2^12 for at most 0.4 %.
# Torch's threads (libgomp's) do so for 300,000 turns of a loop (7 to 11 ms), in which the lanes of a step in patches
# waited for 2 % of their time; with 10,000 for 0.3 %. RBM steps, product after product, take as long with any of them.
WAITING = {"OPENBLAS_THREAD_TIMEOUT": "12", "GOMP_SPINCOUNT": "10000"}

_THREADS = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip
# What a user's shell may say about threads, precision, algorithms, waiting, compilers and Python must not reach the
# measurement. Some of it would pass every check: cuBLAS's emulated single precision is as exact as fp32. Which device
# is meant stays.
_FOREIGN = (
    "OMP_", "MKL_", "OPENBLAS_", "GOTO_", "BLIS_", "NUMEXPR_", "NUMBA_", "PYTHON", "KMP_", "GOMP_", "MALLOC_", "GLIBC_",
    "VECLIB_", "ATEN_", "DNNL_", "ONEDNN_", "TORCH_", "TORCHINDUCTOR_", "PYTORCH_", "TRITON_",
    "NVIDIA_TF32_OVERRIDE", "CUBLAS", "CUDNN_", "CUSOLVER", "CUDA_LAUNCH_", "CUDA_FORCE_", "CUDA_DEVICE_MAX_",
    "CUDA_DEVICE_DEFAULT_", "CUDA_MODULE_", "CUDA_DISABLE_", "CUDA_ENABLE_", "CUDA_AUTO_BOOST", "CUDA_SCALE_",
    "HIPBLAS", "ROCBLAS_", "ROCSOLVER_", "MIOPEN_", "TENSILE_", "HIP_LAUNCH_", "HIP_FORCE_", "AMD_", "GPU_MAX_",
    "SYCL_CACHE_", "SYCL_PI_", "SYCL_UR_", "UR_L0_", "IGC_", "IPEX_",
    "JAX_", "XLA_", "TF_", "LIBTPU_", "PJRT_", "NPROC",
)  # fmt: skip
# Where something is kept says nothing about how it is done,
_PLACES = ("_CACHE_DIR", "_CACHE_PATH", "_HOME", "PYTHONHOME", "PYTHONPYCACHEPREFIX")
# but JAX would take a whole step from there, which another machine or version may have compiled.
_KEPT_PROGRAMS = ("JAX_", "XLA_")


def child_environment(threads: int, parent: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment for a process that computes on `threads` threads."""
    clean = {key: value for key, value in parent.items() if not _is_foreign(key)}
    if path := own_path(parent.get("PYTHONPATH", "")):
        clean["PYTHONPATH"] = path
    counts = dict.fromkeys(_THREADS, str(threads))
    return clean | counts | MALLOC | WAITING | {"OMP_DYNAMIC": "FALSE", "MKL_DYNAMIC": "FALSE", "PYTHONNOUSERSITE": "1"}


def _is_foreign(key: str) -> bool:
    is_place = key.endswith(_PLACES) and not key.startswith(_KEPT_PROGRAMS)
    return key.startswith(_FOREIGN) and not is_place


def process_options(threads: int, lock: tuple[int, ...]) -> dict[str, Any]:
    """How to start a process that computes on `threads` threads and keeps the machine's lock for as long as it does."""
    return {"env": child_environment(threads), "pass_fds": lock, "preexec_fn": ignore_interrupts, "text": True}


def main() -> None:
    """Measure the rounds that standard input describes, all of one profile."""
    events = private_stdout()
    die_with_parent()
    die_first_for_memory()
    try:
        _run(sys.stdin.read(), events)
    except OSError as error:
        if (line := refusal_anywhere(error, KERNELS)) is None:
            raise
        events.write(json.dumps({"event": "refused", "line": str(line)}) + "\n")


def _run(text: str, events: TextIO) -> None:
    from respeed.schedule.spec import order_from_json

    if not text.endswith("}"):  # whoever started this process was stopped before it had said what to measure
        return
    specs, known = order_from_json(text)
    bind(specs[0].cpus)

    from respeed.measure.case import measure_rounds

    def emit(event: str, **facts: Any) -> None:
        events.write(json.dumps({"event": event, **facts}, allow_nan=False) + "\n")
        events.flush()

    measure_rounds(specs, known, emit)


if __name__ == "__main__":
    main()
