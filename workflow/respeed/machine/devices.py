"""Devices, named as in torch and the profiles, such as "cpu", "cuda" or "cuda:1", and "tpu".

The module also reads the facts that NVIDIA's driver reports about its devices (NVML), and the energy counters of these
devices and of the CPU's packages (RAPL). Only a device's backend can find out whether the device can be used
(`backends.probe`); nothing here needs torch or JAX.
"""

import contextlib
import functools
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from respeed.machine.process import CHOOSING, Facts, read_word
from respeed.text import clip, squeeze

# The usual names of the kinds of accelerators.
NAMES = {"cuda": "CUDA", "xpu": "XPU", "mps": "MPS", "tpu": "TPU"}
# The files of drivers, without which there is no such device: AMD's, NVIDIA's, Jetson's and WSL2's of GPUs that torch
# calls cuda; Intel's; Apple's; Google's.
DRIVERS = {
    "cuda": ("/dev/kfd", "/dev/nvidiactl", "/dev/nvhost-gpu", "/dev/nvgpu", "/dev/dxg"),
    "xpu": ("/dev/dri",),
    "mps": ("/System/Library/Frameworks/Metal.framework",),
    "tpu": ("/dev/accel0", "/dev/accel", "/dev/vfio"),
}
# A file about each NVIDIA device, which the driver writes by itself.
GPU_FILES = Path("/proc/driver/nvidia/gpus")
POWERCAP = Path("/sys/class/powercap")
# No package of a CPU uses so much power. If a counter could wrap within a block at this power, it may have done so.
MOST_WATTS = 1000.0

# NVML's constants: NVML_CLOCK_SM and NVML_TEMPERATURE_GPU.
_SM = 1
_CORE = 0
# NVML's errors that mean that there is no NVIDIA driver: it is not loaded, or has no library.
ABSENT = (9, 12)
# A larger number means that the device has no such reading (NVML_VALUE_NOT_AVAILABLE is 2^32 - 1), except for bytes.
MOST_READ = 1e6

# A function of NVML and a device's handle that returns a reading.
Query = Callable[[Any, Any], Any]
# The facts of a record about an NVIDIA device.
FACTS: Mapping[str, Query] = {
    "name": lambda nvml, gpu: nvml.nvmlDeviceGetName(gpu),
    "driver": lambda nvml, gpu: nvml.nvmlSystemGetDriverVersion(),
    "memory_bytes": lambda nvml, gpu: nvml.nvmlDeviceGetMemoryInfo(gpu).total,
    "power_limit_watts": lambda nvml, gpu: nvml.nvmlDeviceGetPowerManagementLimit(gpu) / 1e3,
    "default_power_limit_watts": lambda nvml, gpu: nvml.nvmlDeviceGetPowerManagementDefaultLimit(gpu) / 1e3,
    "ecc": lambda nvml, gpu: bool(nvml.nvmlDeviceGetEccMode(gpu)[0]),
    "counts_energy": lambda nvml, gpu: _device_joules(nvml, gpu) >= 0,
    "processes": lambda nvml, gpu: len({p.pid for p in nvml.nvmlDeviceGetComputeRunningProcesses(gpu)} - {os.getpid()}),
}
# The readings of a device's clock around each block.
CLOCK: Mapping[str, Query] = {
    "sm_mhz": lambda nvml, gpu: nvml.nvmlDeviceGetClockInfo(gpu, _SM),
    "highest_sm_mhz": lambda nvml, gpu: nvml.nvmlDeviceGetMaxClockInfo(gpu, _SM),
    "watts": lambda nvml, gpu: nvml.nvmlDeviceGetPowerUsage(gpu) / 1e3,
    "celsius": lambda nvml, gpu: nvml.nvmlDeviceGetTemperature(gpu, _CORE),
    "reasons": lambda nvml, gpu: _clock_reasons(nvml, gpu),
}


def split_device(device: str) -> tuple[str, int | None]:
    """Return the kind of a device, and its number or None: ("cuda", 1) for "cuda:1", ("cuda", None) for "cuda"."""
    kind, colon, index = device.partition(":")
    return kind, int(index) if colon else None


def too_high(kind: str, index: int, count: int) -> str | None:
    """Return why device `index` does not exist, if the machine has `count` devices of the kind; None if it exists."""
    if index < count:
        return None
    verb = "is" if count == 1 else "are"
    return f"no {NAMES[kind]} device {index}: there {verb} {count}, numbered from 0"


def missing_device(device: str) -> str | None:
    """Return why the machine cannot have such a device; None if a driver for its kind exists. No backend is loaded."""
    kind, _ = split_device(device)
    if kind not in DRIVERS or any(map(os.path.exists, DRIVERS[kind])) or (kind == "cuda" and accelerator_names()):
        return None
    return f"no {NAMES[kind]} device"


def device_facts(pci: str | None = None) -> list[Facts]:
    """Return NVML's facts about each NVIDIA device, or only about the device at the PCI address `pci`."""
    nvml, devices = _find_devices(pci)
    return [_ask(FACTS, nvml, device) for device in devices]


def devices_used_by(processes: Collection[int]) -> set[str]:
    """Return the names of the NVIDIA devices on which any of these processes, by their numbers, computes now."""
    nvml, devices = _find_devices()
    used = set()
    for number, device in enumerate(devices):
        with contextlib.suppress(Exception):  # a driver that does not tell
            running = nvml.nvmlDeviceGetComputeRunningProcesses(device)
            if any(process.pid in processes for process in running):
                used.add(f"GPU {number}, {nvml.nvmlDeviceGetName(device)}")
    return used


@functools.cache
def accelerator_names() -> tuple[str, ...]:
    """Return the names of all NVIDIA devices that the driver shows, whether or not CUDA_VISIBLE_DEVICES hides them.

    If NVML cannot ask the driver, such as after an update of the driver, the names are those in the driver's own files:
    devices that cannot be asked are not absent.
    """
    names = [facts.get("name", "NVIDIA GPU") for facts in device_facts()]
    if driver_error():
        texts = map(read_word, sorted(GPU_FILES.glob("*/information")))
        names = re.findall(r"^Model:(.*)$", "\n".join(texts), re.MULTILINE)
    return tuple(map(squeeze, names))


def driver_error() -> str | None:
    """Return why NVML cannot ask NVIDIA's driver about its devices; None if it can, or if there is no such driver."""
    try:
        _ask_driver()
    except Exception as error:  # NVML's own, or that it is not installed
        is_absent = getattr(error, "value", ABSENT[0]) in ABSENT
        return None if is_absent else f"NVIDIA's driver cannot be asked ({error}): reboot if it was updated"
    return None


def name_card(accelerators: Iterable[str], environment: Mapping[str, str]) -> str:
    """Return a machine's accelerators, and the variables that choose among them, in words.

    A record has no odd spaces, and the beginning of a long list, so these tell no choices apart.
    """
    words = [*accelerators]
    for name in sorted(CHOOSING & environment.keys()):
        words.append(f"{name}={clip(squeeze(environment[name]), 200)}")
    return ", ".join(words) or "an accelerator without a name"


def accelerator_driver() -> str | None:
    """Return the version of the NVIDIA driver; None if there is no driver, or if its version is not known."""
    return next((facts.get("driver") for facts in device_facts()), None)


def clock_reader(device: str, pci: str | None) -> Callable[[], dict[str, float]]:
    """Return a function that reads from NVML the facts in `CLOCK` of the device at the PCI address `pci`.

    For a device that NVML does not know, the function returns no readings. A call takes a fraction of a millisecond, so
    the function can be called before and after every block.
    """
    nvml, devices = _find_own(device, pci)
    return functools.partial(_ask, CLOCK, nvml, devices[0]) if devices else dict


def _find_devices(pci: str | None = None) -> tuple[Any, list[Any]]:
    """Return NVML, initialised, and the handles of all NVIDIA devices, or of the device at the PCI address `pci`.

    Returns None and no handles if the library, the driver, the permission, or such a device is missing.
    """
    try:
        return _ask_driver(pci)
    except Exception:  # whatever fails here means that no such device can be asked
        return None, []


def _ask_driver(pci: str | None = None) -> tuple[Any, list[Any]]:
    """Return what `_find_devices` does; raise an error of NVML, or ImportError, if there is none."""
    import pynvml as nvml

    nvml.nvmlInit()
    if pci is not None:
        return nvml, [nvml.nvmlDeviceGetHandleByPciBusId(pci.encode())]
    return nvml, [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]


def _find_own(device: str, pci: str | None) -> tuple[Any, list[Any]]:
    """Return NVML and a list with the handle of a row's device.

    The list is empty if the device is not NVIDIA's, or has no PCI address, or is a MIG slice: a board counts energy and
    reports clocks only for all its slices together.
    """
    if split_device(device)[0] != "cuda" or pci is None:
        return None, []
    nvml, devices = _find_devices(pci)
    return nvml, [gpu for gpu in devices if not _is_sliced(nvml, gpu)]


def _clock_reasons(nvml: ModuleType, gpu: Any) -> Any:
    """Return why a device's clock is not higher; libraries before version 535 have only the older name."""
    with contextlib.suppress(Exception):
        return nvml.nvmlDeviceGetCurrentClocksEventReasons(gpu)
    return nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu)


def _is_sliced(nvml: ModuleType, gpu: Any) -> bool:
    """Return whether a board is split into MIG slices."""
    with contextlib.suppress(Exception):  # most boards have no such mode, and old libraries no such function
        return bool(nvml.nvmlDeviceGetMigMode(gpu)[0])
    return False


def _ask(queries: Mapping[str, Query], nvml: Any, device: Any) -> Facts:
    """Return NVML's readings of a device, without those that the device does not have.

    Many are missing on vGPUs, MIG slices and Jetson, and under WSL2.
    """
    readings = {}
    for fact, query in queries.items():
        with contextlib.suppress(Exception):  # NVML's own, a function that an old library lacks, a text that is none
            value = query(nvml, device)
            if isinstance(value, str) or fact == "memory_bytes" or 0 <= value <= MOST_READ:
                readings[fact] = value
    return readings


@dataclass(frozen=True)
class EnergyCounter:
    """A counter of the energy that a `domain`, which is a CPU's package or a GPU, has used.

    `read` returns joules since an unknown moment, and raises the driver's error if the counter can no longer be read.
    At `wraps_at` joules the counter starts again from 0; `wraps_at` is None if it never does.
    """

    domain: str
    read: Callable[[], float]
    wraps_at: float | None = None

    def between(self, before: float, after: float, seconds: float) -> float:
        """Return the joules used between two readings that were made `seconds` apart.

        Returns NaN if the counter was reset, or may have wrapped more than once.
        """
        used = after - before
        if self.wraps_at is None:
            return used if used >= 0 else math.nan
        return used % self.wraps_at if seconds * MOST_WATTS < self.wraps_at else math.nan


# Counters, or why there are none.
Found = tuple[list[EnergyCounter], str]


def energy_counters(device: str, pci: str | None = None) -> Found:
    """Return the energy counters of a row on `device`, whose PCI address is `pci`, or the reason for having none.

    An accelerator's row has the accelerator's counter, and those of the CPU's packages if these can be read. If the
    accelerator has no counter, the row has none at all.
    """
    packages, why_not = cpu_counters()
    if device == "cpu":
        return packages, why_not
    nvml, devices = _find_own(device, pci)
    if not devices:
        if nvml:
            return [], "a MIG slice: its board counts energy and reports clocks for all slices together"
        return [], f"only {device} devices that NVML knows count their energy"
    counter = EnergyCounter("GPU", functools.partial(_device_joules, nvml, devices[0]))
    try:
        counter.read()
    except Exception as error:
        return [], f"NVML reports no energy of this device ({error})"
    return [counter, *packages], ""


def cpu_counters() -> Found:
    """Return RAPL's energy counters, or the reason for having none.

    There is one for each package of Intel's or AMD's CPUs, and none for parts of a package.
    """
    counters = []
    try:
        for zone in sorted(POWERCAP.glob("intel-rapl:*")):
            if (domain := read_word(zone / "name")).startswith("package"):
                read = functools.partial(_joules, zone / "energy_uj")
                read()
                counters.append(EnergyCounter(domain, read, _joules(zone / "max_energy_range_uj")))
    except (OSError, ValueError) as error:
        return [], f"the counter of the CPU's energy cannot be read ({error})"
    return counters, "" if counters else f"this system shows no counter of a CPU's energy in {POWERCAP}"


def _joules(path: Path) -> float:
    return int(path.read_text(encoding="ascii")) * 1e-6


def _device_joules(nvml: ModuleType, device: Any) -> float:
    return float(nvml.nvmlDeviceGetTotalEnergyConsumption(device)) * 1e-3
