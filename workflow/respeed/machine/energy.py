"""The counters of energy that this machine has and this process may read: RAPL's of CPUs, NVML's of NVIDIA devices."""

import platform
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from respeed.model.energy import EnergyCounter

_POWERCAP = Path("/sys/class/powercap")
# A counter, or why there is none.
Found = tuple[list[EnergyCounter], str]


def energy_counters(device: str, pci: str | None = None, powercap: Path = _POWERCAP) -> Found:
    """The counters of a row on the device, and why it has none; the reason is empty where it has.

    Those of the CPU's packages, and of an accelerator, whose address is `pci`, its own too: without that the
    others would say too little, and none count.
    """
    packages, why_not = cpu_counters(powercap)
    if device == "cpu":
        return packages, why_not
    own, why_not = _device_counters(device, pci)
    return ([*own, *packages], "") if own else ([], why_not)


def cpu_counters(powercap: Path = _POWERCAP) -> Found:
    """RAPL's, one for each package: on AMD's CPUs too, under the same name. The parts of a package (cores, memory) are
    in it, or beside it on some machines only."""
    if platform.system() == "Darwin":
        return [], "macOS shows the counters of its CPU to root only"
    zones = [path for path in sorted(powercap.glob("intel-rapl:*")) if _word(path / "name").startswith("package")]
    if not zones:
        return [], f"this system shows no counter of a CPU's energy ({powercap}/intel-rapl:0 is not there)"
    counters = []
    for zone in zones:
        try:
            wraps_at = _joules(zone / "max_energy_range_uj")
            _joules(zone / "energy_uj")
        except PermissionError:
            return [], f"{powercap} is readable by root only"
        except (OSError, ValueError):
            return [], f"{zone}/energy_uj cannot be read"
        counters.append(EnergyCounter(_word(zone / "name"), partial(_joules, zone / "energy_uj"), wraps_at))
    return counters, ""


def _word(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _joules(path: Path) -> float:
    return int(path.read_text(encoding="ascii")) * 1e-6


def _device_counters(device: str, pci: str | None) -> Found:
    """That of the NVIDIA device at the address."""
    if device.partition(":")[0] != "cuda":
        return [], f"no counter of {device} devices is known here; only NVIDIA's are read"
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # no library, no driver, or AMD's device behind CUDA's name
        return [], "the device's driver has no NVML; only NVIDIA's counters are read"
    if pci is None:
        return [], "it does not tell which of the driver's devices it uses"
    try:
        handle = pynvml.nvmlDeviceGetHandleByPciBusId(pci.encode())
        counter = EnergyCounter("GPU", _reader(pynvml, handle))
        counter.read()
    except (OSError, pynvml.NVMLError) as error:
        return [], f"NVML tells no energy of this device ({error})"
    return [counter], ""


def _reader(pynvml: Any, handle: Any) -> Callable[[], float]:
    def read() -> float:
        try:
            return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)) * 1e-3
        except pynvml.NVMLError as error:
            raise OSError(str(error)) from None

    return read


def energy_in_a_line(powercap: Path = _POWERCAP) -> str:
    """What can be read here, for people: the CPU's packages by name, and of how many NVIDIA devices."""
    packages, why_not = cpu_counters(powercap)
    texts = [", ".join(counter.domain for counter in packages) or f"CPU not measured: {why_not}"]
    devices, told = _devices_that_tell()
    return "; ".join(texts + ([f"{told} of {devices} NVIDIA devices"] if devices else []))


def _devices_that_tell() -> tuple[int, int]:
    """How many NVIDIA devices there are, and how many of them tell their energy."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:
        return 0, 0
    told = 0
    try:
        count = pynvml.nvmlDeviceGetCount()
        for index in range(count):
            try:
                pynvml.nvmlDeviceGetTotalEnergyConsumption(pynvml.nvmlDeviceGetHandleByIndex(index))
                told += 1
            except pynvml.NVMLError:
                continue
    finally:
        pynvml.nvmlShutdown()
    return int(count), told
