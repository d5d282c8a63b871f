"""Measuring processes: their environment, their limits, how they end, and the lock that lets only one measure.

This module uses no numerical library.

The environment of a measuring process is built by respeed and not inherited: a user's settings of threads, precision,
algorithms, waiting or compilers must not reach the measurement. Some settings would pass every check: cuBLAS's emulated
single precision is as exact as fp32.

Two measurements on one machine would disturb each other. The lock is a file of the user, locked by flock(2), and is
held as long as any process has the file open. So a measuring process whose parent was killed keeps the lock for as long
as that process uses the cores.
"""

import contextlib
import ctypes
import math
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TextIO

import psutil

from respeed.errors import UserError
from respeed.paths import lock_file, private_folder

# Facts of a machine, a process or a case, as a record has them.
Facts = dict[str, Any]
# Inherited and listed in records: the choice of devices, and libraries that are loaded before all others.
PRELOADED = {"LD_PRELOAD", "DYLD_INSERT_LIBRARIES"}
CHOOSING = {
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "NVIDIA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION", "HSA_ENABLE_SDMA", "HSA_XNACK",
    "ZE_AFFINITY_MASK", "ZE_FLAT_DEVICE_HIERARCHY", "ONEAPI_DEVICE_SELECTOR", "TPU_VISIBLE_CHIPS",
    "TPU_VISIBLE_DEVICES", "TPU_CHIPS_PER_PROCESS_BOUNDS", "TPU_PROCESS_BOUNDS", "TPU_ACCELERATOR_TYPE",
}  # fmt: skip
NAMED = PRELOADED | CHOOSING
# Inherited and not listed in records, since they name users, hosts and folders.
INHERITED = {
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "PYTHONPATH", "PYTHONNOUSERSITE", "PYTHONPYCACHEPREFIX", "VIRTUAL_ENV", "CONDA_PREFIX", "CC", "CXX", "CUDA_HOME",
    "CUDA_PATH", "CUDA_CACHE_PATH", "ROCM_PATH", "HIP_PATH", "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY",
    "TRITON_CACHE_DIR", "TPU_LIBRARY_PATH",
}  # fmt: skip
PREFIXES = ("LC_", "XDG_", "SLURM_")

THREADS = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "PJRT_NPROC",
)  # fmt: skip
FIXED = {
    "OMP_DYNAMIC": "FALSE",
    "MKL_DYNAMIC": "FALSE",
    # glibc hands large blocks back to the kernel at every free by default, and each step then pays page faults for them
    # (1,700 to 2,040 a step were seen, +26 % time). These settings keep what was once allocated.
    "MALLOC_TRIM_THRESHOLD_": "4294967295",
    "MALLOC_MMAP_THRESHOLD_": "1073741824",
    # Huge pages make the first touch of what is allocated cheap: a round of rbm started 3 s earlier, its steps
    # unchanged.
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    # By default OpenBLAS's threads spin for 2^26 cycles (25 ms) after a product. That delays the compiled pass that
    # follows: by 3 % of its time at 2^20 cycles, by at most 0.4 % at 2^12. RBM steps, product after product, take as
    # long with either.
    "OPENBLAS_THREAD_TIMEOUT": "12",
    # Torch's threads (libgomp's) spin for 300,000 turns of a loop (7 to 11 ms), which delayed the lanes of a step in
    # patches by 2 % of their time; 10,000 turns delay them by 0.3 %.
    "GOMP_SPINCOUNT": "10000",
    # Otherwise XLA would take three quarters of a GPU's memory at once, whatever the programs need.
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
}
# XLA's operations in one order. Otherwise it hands operations that can run at once to its pool, even to a pool of one
# thread: this thread and the calling one would take turns on one CPU, as at large sizes they still do.
ON_ONE_THREAD = {"XLA_FLAGS": "--xla_cpu_enable_concurrency_optimized_scheduler=false"}

# Linux's control groups, of both versions, and which of them this process is in.
GROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
# The first version's limit of memory is 2^63 less a page where there is none, and no machine has half as much.
NO_LIMIT = 2**62
# All containers of a running system have this number in common.
BOOT = Path("/proc/sys/kernel/random/boot_id")

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def child_environment(threads: int, parent: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a process on `threads` threads: some variables of `parent`, and those that we set."""
    environment = {key: parent[key] for key in parent if key in NAMED | INHERITED or key.startswith(PREFIXES)}
    environment |= dict.fromkeys(THREADS, str(threads))
    environment |= FIXED
    if threads == 1:
        environment |= ON_ONE_THREAD
    return environment


def telling_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables that a record lists, sorted by name; preloaded libraries appear without their folders."""
    names = environment.keys() & (NAMED | FIXED.keys() | ON_ONE_THREAD.keys()).union(THREADS)
    listed = {name: environment[name] for name in sorted(names)}
    for name in PRELOADED & names:
        listed[name] = re.sub(r"[^:]*/", "", listed[name])
    return listed


def bind(cpus: Collection[int]) -> None:
    """Bind this process to `cpus`, where the system can do so; change nothing if `cpus` is empty.

    Raises OSError if the system refuses.
    """
    if cpus and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cpus)


def allowed_cpus() -> list[int]:
    """Return the CPUs that this process may run on; an empty list if the system does not report them."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def cpu_quota() -> float | None:
    """Return the CPU time allowed per second, such as 2.5 for two and a half CPUs; None if there is no limit."""

    def quota(group: Path) -> float:
        words = read_word(group / "cpu.max").split()
        if not words:  # the first version
            words = [read_word(group / f"cpu.cfs_{name}_us") for name in ("quota", "period")]
        allowed, period = map(int, words)
        return allowed / period

    # The first version has -1 for no limit.
    return min((cpus for cpus in _read_groups("cpu", quota) if cpus > 0), default=None)


def quota_seconds() -> float | None:
    """Return for how long the CPU quota has stopped threads, added over CPUs; None if the system does not tell."""

    def stopped(group: Path) -> float:
        counters = _counters(group / "cpu.stat")
        if "throttled_time" in counters:  # the first version
            return 1e-9 * counters["throttled_time"]
        return 1e-6 * counters["throttled_usec"]

    seconds = _read_groups("cpu", stopped)
    return sum(seconds) if seconds else None


def memory_left() -> float | None:
    """Return how many more bytes may be used before the kernel ends a process; None if there is no limit.

    The kernel's inactive file cache counts as free, because the kernel drops it before ending a process.
    """

    def left(group: Path) -> float:
        limit = read_word(group / "memory.max") or read_word(group / "memory.limit_in_bytes")
        used = read_word(group / "memory.current") or read_word(group / "memory.usage_in_bytes")
        counters = _counters(group / "memory.stat")
        cache = counters.get("total_inactive_file", counters["inactive_file"])  # the first one with the groups below
        return max(0, int(limit) - int(used) + cache)

    least = min(_read_groups("memory", left), default=math.inf)
    return least if least < NO_LIMIT else None


def memory_free() -> float:
    """Return how many bytes this process may use in total.

    These are the bytes that the process already holds, which the next case may use, and those still free in the system
    or in the control group, whichever are fewer.
    """
    free: float = psutil.virtual_memory().available
    allowed = memory_left()
    if allowed is not None:
        free = min(free, allowed)
    return float(psutil.Process().memory_info().rss + free)


def _read_groups(controller: str, read: Callable[[Path], float]) -> list[float]:
    """Return the results of `read` for this process's groups of a controller, "cpu" or "memory".

    These are the group of the version that the controller belongs to, and its parent groups, whose limits also hold. A
    group is left out if a file is missing or has no number, such as the word "max". In a container the process's group
    appears as the root; elsewhere (systemd, Slurm) the group lies deeper.
    """
    values = []
    for line in read_word(MEMBERSHIP).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        # Where the first version is in use, each controller has a folder, and the second version one of its own.
        mount = GROUPS / (controller if controllers else "unified")
        if not mount.is_dir():
            mount = GROUPS
        group = mount / path.lstrip("/")
        for folder in (group, *group.parents):
            with contextlib.suppress(OSError, ValueError, KeyError):
                values.append(read(folder))
    return values


def _counters(path: Path) -> dict[str, int]:
    """Return the counters in a file of the kernel's, by name."""
    return {name: int(value) for name, value in map(str.split, read_word(path).splitlines())}


def private_stdout() -> TextIO:
    """Return standard output for our own messages; what libraries print there goes to standard error from now on."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    return answers


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent ends in any way (only on Linux)."""
    if sys.platform == "linux":
        PR_SET_PDEATHSIG = 1
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def die_first_for_memory() -> None:
    """Let the kernel kill this process first if memory runs out, so that a case is lost and not the run (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def interrupt_when_stopped() -> None:
    """Make Ctrl-C, SIGTERM and SIGHUP end the processes that this one started, and raise KeyboardInterrupt.

    A signal that was already ignored when the program started, as under `nohup`, stays ignored. A second Ctrl-C ends
    the program at once.
    """

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        ignore_interrupts()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                child.terminate()
        raise KeyboardInterrupt

    for number in STOPS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)


def ignore_interrupts() -> None:
    """Ignore the signals that stop a run, in a measuring process that is about to start.

    Its parent gets the signals as well, and then ends the process. If the process died of a signal before that, its
    case would be recorded as failed.
    """
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)


def read_word(path: Path) -> str:
    """Return the text of a small file, such as one of the kernel's; "" if the file cannot be read."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def output_of(*command: str) -> str:
    """Return the output of a system command, in English; "" if there is no such command, or if the command fails."""
    english = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, env=english).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


# The file descriptors that hold the lock, for a child to inherit; empty if the lock file cannot be used.
Held = tuple[int, ...]
# To look for the lock so often is too cheap to disturb the other measurement's probes.
LOOK_SECONDS = 0.5


def lock_path() -> Path:
    """Return this user's lock file for this machine, as machines may share a home folder.

    It has the number of the running system, which containers share, or else the machine's name.
    """
    return private_folder() / f"measures-{read_word(BOOT) or platform.node()}.lock"


@contextlib.contextmanager
def machine_lock(wait_seconds: float | None, say: Callable[[str], None]) -> Iterator[Held]:
    """Hold the lock of measurements within this context, and yield the lock's file descriptors.

    If another measurement holds the lock, report this once by `say` and wait, without limit or for `wait_seconds`; then
    raise UserError. If the lock file cannot be used, report this by `say` and continue without a lock.
    """
    held = Held()
    is_said = False
    deadline = math.inf if wait_seconds is None else time.monotonic() + wait_seconds
    try:
        path = lock_path()
        while (descriptor := lock_file(path)) is None:
            if time.monotonic() >= deadline:
                raise UserError(
                    f"another measurement still runs on this machine: {read_word(path)}; try again when it is done, "
                    "or give this one longer to wait for it, such as --wait 1h"
                )
            if not is_said:
                say(f"respeed: another measurement runs on this machine; waiting for it: {read_word(path)}")
            is_said = True
            time.sleep(LOOK_SECONDS)
        held = (descriptor,)
        os.ftruncate(descriptor, 0)
        holder = f"pid {os.getpid()}, since {datetime.now():%Y-%m-%d %H:%M}"
        os.write(descriptor, holder.encode())
    except OSError as error:
        say(f"respeed: cannot use the lock file ({error}); make sure that no other measurement runs")
    try:
        yield held
    finally:
        for descriptor in held:
            os.close(descriptor)


def who_measures() -> str | None:
    """Return the holder of the lock, such as "pid 4242, since 2026-01-31 14:05"; None if nobody is known to hold it."""
    with contextlib.suppress(OSError, UserError):  # the lock file cannot be used
        path = lock_path()
        if (descriptor := lock_file(path)) is None:
            return read_word(path) or "unknown"
        os.close(descriptor)
    return None
