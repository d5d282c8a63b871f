"""Devices, as torch and the profiles call them: "cpu", "cuda", "cuda:1"; and "tpu". What NVIDIA's driver tells of its
devices, by NVML.

Whether a device can be used, its backend alone knows (`backends.probe`); what is here needs neither torch nor JAX.
"""

import contextlib
import functools
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from typing import Any

# What people call each kind of accelerator.
NAMES = {"cuda": "CUDA", "xpu": "XPU", "mps": "MPS", "tpu": "TPU"}
# The files of the kernel's drivers, without which there is no such device: AMD's, NVIDIA's, Jetson's and WSL2's of GPUs
# that torch calls cuda; Intel's.
DRIVERS = {
    "cuda": ("/dev/kfd", "/dev/nvidiactl", "/dev/nvhost-gpu", "/dev/nvgpu", "/dev/dxg"),
    "xpu": ("/dev/dri",),
}

# NVML's constants: NVML_CLOCK_SM and NVML_TEMPERATURE_GPU.
_SM, _CORE = 1, 0
# A larger number stands for one that the device does not have (NVML_VALUE_NOT_AVAILABLE is 2^32 - 1), but for bytes.
MOST_TOLD = 1e6
MOST_BYTES = 2**53

# Given NVML and the handle of a device, what it tells.
Query = Callable[[Any, Any], Any]
# What a record says of an NVIDIA device.
FACTS: Mapping[str, Query] = {
    "name": lambda nvml, device: nvml.nvmlDeviceGetName(device),
    "driver": lambda nvml, device: nvml.nvmlSystemGetDriverVersion(),
    "memory_bytes": lambda nvml, device: nvml.nvmlDeviceGetMemoryInfo(device).total,
    "capability": lambda nvml, device: "{}.{}".format(*nvml.nvmlDeviceGetCudaComputeCapability(device)),
    "power_limit_watts": lambda nvml, device: nvml.nvmlDeviceGetPowerManagementLimit(device) / 1e3,
    "default_power_limit_watts": lambda nvml, device: nvml.nvmlDeviceGetPowerManagementDefaultLimit(device) / 1e3,
    "clock_mhz": lambda nvml, device: nvml.nvmlDeviceGetClockInfo(device, _SM),
    "highest_clock_mhz": lambda nvml, device: nvml.nvmlDeviceGetMaxClockInfo(device, _SM),
    "temperature_celsius": lambda nvml, device: nvml.nvmlDeviceGetTemperature(device, _CORE),
    "ecc": lambda nvml, device: bool(nvml.nvmlDeviceGetEccMode(device)[0]),
    "processes": lambda nvml, device: len(_other_processes(nvml, device)),
}
# What is told of a device's clock around each block.
CLOCK: Mapping[str, Query] = {
    "sm_mhz": FACTS["clock_mhz"],
    "highest_sm_mhz": FACTS["highest_clock_mhz"],
    "watts": lambda nvml, device: nvml.nvmlDeviceGetPowerUsage(device) / 1e3,
    "celsius": FACTS["temperature_celsius"],
    "reasons": lambda nvml, device: nvml.nvmlDeviceGetCurrentClocksEventReasons(device),
}


def split_device(device: str) -> tuple[str, int | None]:
    """Return the kind of a device and its number, if it names one: ("cuda", 1) of "cuda:1"."""
    kind, colon, index = device.partition(":")
    return kind, int(index) if colon else None


def too_high(kind: str, index: int, there: int) -> str | None:
    """Return why there is no device of that number among so many of its kind; None if there is one."""
    if index < there:
        return None
    return f"no {NAMES[kind]} device {index}: there {'is' if there == 1 else 'are'} {there}, numbered from 0"


def missing_device(device: str) -> str | None:
    """Return why no such device can be here, without loading a backend; None if the kernel has a driver of its kind."""
    kind, _ = split_device(device)
    is_absent = kind == "mps" and (platform.system(), platform.machine()) != ("Darwin", "arm64")
    if kind in DRIVERS and not (kind == "cuda" and accelerator_names()):
        is_absent = not any(map(os.path.exists, DRIVERS[kind]))
    return f"no {NAMES[kind]} device" if is_absent else None


@contextlib.contextmanager
def nvml_devices(pci: str | None = None) -> Iterator[tuple[Any, list[Any]]]:
    """Open NVML: yield its module, and the handles of all NVIDIA devices, or of the one at a PCI address; no handles
    without library, driver, right or such a device."""
    module, handles = None, []
    with contextlib.suppress(Exception):  # what fails here means that there is no device
        import pynvml

        pynvml.nvmlInit()
        module = pynvml
        if pci is None:
            handles = [module.nvmlDeviceGetHandleByIndex(index) for index in range(module.nvmlDeviceGetCount())]
        else:
            handles = [module.nvmlDeviceGetHandleByPciBusId(pci.encode())]
    try:
        yield module, handles
    finally:
        with contextlib.suppress(Exception):
            if module:
                module.nvmlShutdown()


def ask(queries: Mapping[str, Query], nvml: Any, device: Any) -> dict[str, Any]:
    """Return what NVML tells of a device; what it does not tell is left out, since vGPUs, WSL2, MIG and Jetson leave
    much unsaid."""
    told = {}
    for fact, query in queries.items():
        with contextlib.suppress(Exception):  # NVML's own, a function that an old library lacks, a text that is none
            value = query(nvml, device)
            most = MOST_BYTES if fact == "memory_bytes" else MOST_TOLD
            if isinstance(value, str) or 0 <= value <= most:
                told[fact] = value
    return told


def device_facts(pci: str | None = None) -> list[dict[str, Any]]:
    """Return what NVML tells of each NVIDIA device, or of the one at a PCI address."""
    with nvml_devices(pci) as (nvml, handles):
        return [ask(FACTS, nvml, handle) for handle in handles]


@functools.cache
def accelerator_names() -> tuple[str, ...]:
    """Return the names of all NVIDIA devices that the driver shows, whether or not CUDA_VISIBLE_DEVICES hides them."""
    return tuple(facts.get("name", "NVIDIA GPU") for facts in device_facts())


def accelerator_driver() -> str | None:
    """Return the version of the NVIDIA driver; None where there is none, or it does not say."""
    return next((facts.get("driver") for facts in device_facts()), None)


def accelerator_bytes() -> dict[str, int]:
    """Return the memory of one NVIDIA device of each name."""
    told = [facts for facts in device_facts() if {"name", "memory_bytes"} <= facts.keys()]
    return {facts["name"]: facts["memory_bytes"] for facts in told}


def clock_reader(device: str, pci: str | None) -> Callable[[], dict[str, float]]:
    """Return a function that tells, whenever it is called, what NVML says of the clock of the device at the address;
    nothing of other devices. It takes a fraction of a millisecond, so that it can be called around every block."""
    if split_device(device)[0] == "cuda" and pci is not None:
        with contextlib.suppress(Exception):  # no library, no driver, no right, no such device
            import pynvml

            pynvml.nvmlInit()
            return functools.partial(ask, CLOCK, pynvml, pynvml.nvmlDeviceGetHandleByPciBusId(pci.encode()))
    return dict


def _other_processes(nvml: Any, device: Any) -> list[Any]:
    return [one for one in nvml.nvmlDeviceGetComputeRunningProcesses(device) if one.pid != os.getpid()]
