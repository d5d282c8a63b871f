"""Devices, as torch and the profiles call them: "cpu", "cuda", "cuda:1"; and "tpu". The accelerators of this machine,
found without importing torch, and the pretended GPU of the project's tests.
"""

import contextlib
import ctypes
import functools
import os
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from respeed.errors import UserError
from respeed.machine.process import read_word

# Of accelerators: what people call them.
NAMES = {"cuda": "CUDA", "xpu": "XPU", "mps": "MPS", "tpu": "TPU"}
# The PCI bus, and on it the vendor, of network cards as well, and its TPUs: v2 and v3, plc, v4, v5p, v5e, v6e, 7x.
BUS = Path("/sys/bus/pci/devices")
_GOOGLE = "0x1ae0"
_TPUS = {"0x0027", "0x0056", "0x005e", "0x0062", "0x0063", "0x006f", "0x0076"}
# What the library of the pretended GPU alone has, whatever it is called.
SYMBOL = "respeed_pretended_gpu"
# Set by tests to the copy of the project that they measure in, for the smoke preset, whose tables say "No measurement".
ALLOWED = "RESPEED_PRETENDED_GPU"


def split_device(device: str) -> tuple[str, int | None]:
    """The kind of a device and its number, if it names one: ("cuda", 1) of "cuda:1", ("cuda", None) of "cuda"."""
    kind, colon, index = device.partition(":")
    return kind, int(index) if colon else None


def too_high(kind: str, index: int, there: int) -> str | None:
    """Why there is no device of that number among so many of its kind; None if there is one."""
    if index < there:
        return None
    return f"no {NAMES[kind]} device {index}: there {'is' if there == 1 else 'are'} {there}, numbered from 0"


@functools.cache
def accelerator_names() -> tuple[str, ...]:
    """The names of the NVIDIA devices that the driver shows and CUDA_VISIBLE_DEVICES does not hide."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and visible.strip() in {"", "-1"}:
        return ()
    with nvml() as driver:
        handles = device_handles(driver)
        names = [str(driver.nvmlDeviceGetName(handle)) for handle in handles]
        uuids = [str(driver.nvmlDeviceGetUUID(handle)) for handle in handles]
    by_bus = os.environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    return tuple(names if visible is None else visible_devices(visible, names, uuids, by_bus=by_bus))


@contextlib.contextmanager
def nvml() -> Iterator[Any]:
    """NVIDIA's library of the driver; None where there is no library, no driver or no right: that means no device."""
    driver: Any = None
    with contextlib.suppress(Exception):
        import pynvml

        pynvml.nvmlInit()
        driver = pynvml
    try:
        yield driver
    finally:
        if driver:
            driver.nvmlShutdown()


def device_handles(driver: Any) -> list[Any]:
    """Of all NVIDIA devices that the driver shows; none without a driver."""
    return [driver.nvmlDeviceGetHandleByIndex(index) for index in range(driver.nvmlDeviceGetCount())] if driver else []


def visible_devices(visible: str, names: Sequence[str], uuids: Sequence[str], *, by_bus: bool = False) -> list[str]:
    """The names of those that CUDA_VISIBLE_DEVICES lists, by number, by the first letters of their UUID, or as a part
    of one (MIG-...). CUDA ends at the first that it does not know.

    The driver's numbers, which are those of `names`, are CUDA's too where it goes by the bus (CUDA_DEVICE_ORDER).
    Otherwise CUDA begins with the fastest: of unlike devices a number then says only that it is one of them.
    """
    found, alike = [], by_bus or len(set(names)) == 1
    for part in (word.strip() for word in visible.split(",")):
        if part.startswith("MIG-") and names:
            found.append(f"{names[0]} MIG")
            continue
        if part.isdecimal():
            places = [int(part)]
        else:
            places = [place for place, uuid in enumerate(uuids) if part and uuid.startswith(part)]
        if len(places) != 1 or places[0] >= len(names):
            break
        known = alike or not part.isdecimal()
        found.append(names[places[0]] if known else " or ".join(sorted(set(names))))
    return found


def accelerator_driver() -> str | None:
    """The version of the NVIDIA driver; None where there is none."""
    if not accelerator_names():
        return None
    with nvml() as driver:
        return str(driver.nvmlSystemGetDriverVersion()) if driver else None


def accelerator_bytes() -> dict[str, int]:
    """By name, the memory of one NVIDIA device of those that the driver shows; empty where there is none."""
    with nvml() as driver:
        handles = device_handles(driver) if accelerator_names() else []
        return {
            str(driver.nvmlDeviceGetName(handle)): int(driver.nvmlDeviceGetMemoryInfo(handle).total)
            for handle in handles
        }


def device_counts() -> dict[str, int | None]:
    """How many devices there are of every kind that is here, as torch calls and numbers them, and TPUs as JAX does;
    None where it is not told without loading either."""
    found: dict[str, int | None] = {}
    if accelerator_names():
        found["cuda"] = len(accelerator_names())
    elif Path("/dev/kfd").exists():  # the kernel's driver of AMD's GPUs, which torch calls cuda as well
        found["cuda"] = None
    if Path("/dev/dri").exists():
        found["xpu"] = None
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        found["mps"] = 1
    googles = [path for path in BUS.glob("*") if read_word(path / "vendor") == _GOOGLE]
    if tpus := sum(read_word(path / "device") in _TPUS for path in googles):
        found["tpu"] = tpus
    return found


def missing_device(device: str) -> str | None:
    """Why a profile for `device` cannot run here; None if nothing speaks against it.

    The last word has the backend, in the round itself; this is what can be known without loading it.
    """
    kind, index = split_device(device)
    if kind not in NAMES:
        return None
    counts = device_counts()
    if kind not in counts:
        return f"no {NAMES[kind]} device"
    there = counts[kind]
    return None if index is None or there is None else too_high(kind, index, there)


def is_pretended() -> bool:
    """Whether the library of the pretended GPU is preloaded here, and so in every process that this one starts."""
    return hasattr(ctypes.CDLL(None), SYMBOL)


def refuse_pretended(root: Path, *, smoke: bool) -> None:
    """UserError if something is to be measured or described in the project at `root` on a pretended GPU."""
    allowed = os.environ.get(ALLOWED)
    if is_pretended() and not (smoke and allowed and Path(allowed).resolve() == root.resolve()):
        raise UserError(
            "a pretended GPU, the one of the project's tests, is preloaded: nothing is measured on it, or described; "
            f"unset LD_PRELOAD (now {os.environ.get('LD_PRELOAD', 'not set')})"
        )
