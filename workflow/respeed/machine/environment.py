"""The environment of the measuring process, which is made and not inherited: what a user's shell says of threads,
precision, algorithms, waiting or compilers must not reach the measurement. Uses nothing of the project.

Some of it would pass every check: cuBLAS's emulated single precision is as exact as fp32.
"""

import os
import re
from collections.abc import Mapping

# Inherited and told by records: which devices are meant, and what is loaded before all else.
TOLD = {
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "NVIDIA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION", "HSA_ENABLE_SDMA", "HSA_XNACK",
    "ZE_AFFINITY_MASK", "ZE_FLAT_DEVICE_HIERARCHY", "ONEAPI_DEVICE_SELECTOR", "TPU_VISIBLE_CHIPS",
    "TPU_VISIBLE_DEVICES", "TPU_CHIPS_PER_PROCESS_BOUNDS", "TPU_PROCESS_BOUNDS", "TPU_ACCELERATOR_TYPE",
    "LD_PRELOAD", "DYLD_INSERT_LIBRARIES",
}  # fmt: skip
# Inherited and not told, since they name users, hosts and folders: where things lie, and who is at work.
INHERITED = {
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "PYTHONPATH", "PYTHONNOUSERSITE", "PYTHONPYCACHEPREFIX", "VIRTUAL_ENV", "CONDA_PREFIX", "CC", "CXX", "CUDA_HOME",
    "CUDA_PATH", "CUDA_CACHE_PATH", "ROCM_PATH", "HIP_PATH", "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY",
    "NUMBA_CACHE_DIR", "TRITON_CACHE_DIR", "TPU_LIBRARY_PATH", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy",
    "https_proxy", "no_proxy",
}  # fmt: skip
PREFIXES = ("LC_", "XDG_", "SLURM_")

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
THREADS = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip
# Set by libraries and backends in the process itself, and told.
_SET_LATER = {
    "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK", "NPROC", "PJRT_NPROC", "XLA_FLAGS", "XLA_PYTHON_CLIENT_PREALLOCATE",
}  # fmt: skip


def child_environment(threads: int, parent: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment for a process that computes on `threads` threads: what it inherits, and what is set."""
    kept = {key: parent[key] for key in parent if key in TOLD | INHERITED or key.startswith(PREFIXES)}
    fixed = {"OMP_DYNAMIC": "FALSE", "MKL_DYNAMIC": "FALSE"}
    return kept | dict.fromkeys(THREADS, str(threads)) | MALLOC | WAITING | fixed


def telling_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return what a record tells of the environment, in the order of the names, libraries without their folders."""
    told = TOLD | _SET_LATER | child_environment(1, {}).keys()
    return {key: _without_folders(key, environment[key]) for key in sorted(told & environment.keys())}


def _without_folders(key: str, value: str) -> str:
    return re.sub(r"[^:]*/", "", value) if key in {"LD_PRELOAD", "DYLD_INSERT_LIBRARIES"} else value
