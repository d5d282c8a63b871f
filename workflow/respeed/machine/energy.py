"""Counters of energy that this process may read: RAPL's of CPU packages, NVML's of NVIDIA devices."""

import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from respeed.machine.accelerators import ask, nvml_devices
from respeed.machine.process import read_word

POWERCAP = Path("/sys/class/powercap")
# No package of a CPU takes as much. A counter that this would bring round within a block may have gone round unseen.
MOST_WATTS = 1000.0


@dataclass(frozen=True)
class EnergyCounter:
    """The energy that a `domain`, a CPU's package or a GPU, has used since some moment.

    `read` returns joules and raises OSError where the counter is gone. The counter begins anew at `wraps_at` joules;
    None for one that never does.
    """

    domain: str
    read: Callable[[], float]
    wraps_at: float | None = None

    def between(self, before: float, after: float, seconds: float) -> float | None:
        """Return the joules between two readings that lie `seconds` apart; None where the counter was set back, or may
        have begun anew more than once."""
        if self.wraps_at is None:
            return after - before if after >= before else None
        if seconds * MOST_WATTS >= self.wraps_at:
            return None
        return (after - before) % self.wraps_at


# Counters, or why there are none.
Found = tuple[list[EnergyCounter], str]


def energy_counters(device: str, pci: str | None = None) -> Found:
    """Find the counters of a row on `device`, whose PCI address is `pci`, and say why there are none; empty where there
    are. A row of an accelerator has the counter of that and those of the CPU's packages, or none at all."""
    packages, why_not = cpu_counters()
    if device == "cpu":
        return packages, why_not
    own, why_not = _device_counters(device, pci)
    return ([*own, *packages], "") if own else ([], why_not)


def cpu_counters() -> Found:
    """Find RAPL's counters, one for each package, also of AMD's CPUs. The parts of a package are not among them."""
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
    """Find the counter of the NVIDIA device at the PCI address."""
    if device.partition(":")[0] != "cuda":
        return [], f"no counter of {device} devices is known here; only NVIDIA's are read"
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # no library, no driver, or AMD's device behind CUDA's name
        return [], "the device's driver has no NVML; only NVIDIA's counters are read"
    if pci is None:
        return [], "it does not tell which of the driver's devices it uses"

    def read() -> float:
        try:
            return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)) * 1e-3
        except pynvml.NVMLError as error:
            raise OSError(str(error)) from None

    try:
        handle = pynvml.nvmlDeviceGetHandleByPciBusId(pci.encode())
        read()
    except (OSError, pynvml.NVMLError) as error:
        return [], f"NVML tells no energy of this device ({error})"
    return [EnergyCounter("GPU", read)], ""


def energy_in_a_line() -> str:
    """Return what can be read here, for people: the CPU's packages by name, and of how many NVIDIA devices."""
    packages, why_not = cpu_counters()
    text = ", ".join(counter.domain for counter in packages) or f"CPU not measured: {why_not}"
    counter = {"joules": lambda nvml, device: 1e-3 * (nvml.nvmlDeviceGetTotalEnergyConsumption(device) > 0)}
    with nvml_devices() as (nvml, devices):
        telling = sum(bool(ask(counter, nvml, device)) for device in devices)
    return f"{text}; {telling} of {len(devices)} NVIDIA devices" if devices else text
