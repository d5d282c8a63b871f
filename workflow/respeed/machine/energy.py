"""The counters of energy that this machine has and this process may read, RAPL's of CPUs and NVML's of NVIDIA devices,
and what two readings of one say.
"""

import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from respeed.machine.accelerators import ask, device_handles, nvml
from respeed.machine.process import read_word

POWERCAP = Path("/sys/class/powercap")
# No package of a CPU takes as much. A counter that this would bring round within a block may have gone round unseen.
MOST_WATTS = 1000.0

# A reading is as old as the counter's last change: at either end of a block up to one update is counted that is not the
# block's, or left out that is. Of ten, that is at most a tenth of what a block draws more than what goes before it.
FEWEST_UPDATES = 10


@dataclass(frozen=True)
class EnergyCounter:
    """What a `domain`, a CPU's package or a GPU, has used: `read` gives joules since some moment, and raises OSError
    where the counter is gone. At `wraps_at` joules it begins anew; None for one that never does."""

    domain: str
    read: Callable[[], float]
    wraps_at: float | None = None

    def between(self, before: float, after: float, seconds: float) -> float | None:
        """Joules between two readings so far apart; None where that cannot be told: the counter was set back, or may
        have gone round more than once."""
        if self.wraps_at is None:
            return after - before if after >= before else None
        if seconds * MOST_WATTS >= self.wraps_at:
            return None
        return (after - before) % self.wraps_at


# Counters, or why there are none.
Found = tuple[list[EnergyCounter], str]


def energy_counters(device: str, pci: str | None = None) -> Found:
    """The counters of a row on the device, and why it has none; the reason is empty where it has.

    Those of the CPU's packages, and of an accelerator, whose address is `pci`, its own too: without that the
    others would say too little, and none count.
    """
    packages, why_not = cpu_counters()
    if device == "cpu":
        return packages, why_not
    own, why_not = _device_counters(device, pci)
    return ([*own, *packages], "") if own else ([], why_not)


def cpu_counters() -> Found:
    """RAPL's, one for each package: on AMD's CPUs too, under the same name. The parts of a package (cores, memory) are
    in it, or beside it on some machines only."""
    if platform.system() == "Darwin":
        return [], "macOS shows the counters of its CPU to root only"
    zones = [path for path in sorted(POWERCAP.glob("intel-rapl:*")) if read_word(path / "name").startswith("package")]
    if not zones:
        return [], f"this system shows no counter of a CPU's energy ({POWERCAP}/intel-rapl:0 is not there)"
    counters = []
    for zone in zones:
        try:
            wraps_at = _joules(zone / "max_energy_range_uj")
            _joules(zone / "energy_uj")
        except PermissionError:
            return [], f"{POWERCAP} is readable by root only"
        except (OSError, ValueError):
            return [], f"{zone}/energy_uj cannot be read"
        counters.append(EnergyCounter(read_word(zone / "name"), partial(_joules, zone / "energy_uj"), wraps_at))
    return counters, ""


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


def energy_in_a_line() -> str:
    """What can be read here, for people: the CPU's packages by name, and of how many NVIDIA devices."""
    packages, why_not = cpu_counters()
    text = ", ".join(counter.domain for counter in packages) or f"CPU not measured: {why_not}"
    with nvml() as driver:
        devices = device_handles(driver)
        telling = sum(ask(driver, "DeviceGetTotalEnergyConsumption", one).value is not None for one in devices)
    return f"{text}; {telling} of {len(devices)} NVIDIA devices" if devices else text
