"""The accelerators of this machine, found without importing torch."""

import functools
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from respeed.model.devices import NAMES, split_device, too_high

# On the PCI bus: the vendor, of network cards as well, and its TPUs: v2 and v3, plc, v4, v5p, v5e, v6e, 7x.
_GOOGLE = "0x1ae0"
_TPUS = {"0x0027", "0x0056", "0x005e", "0x0062", "0x0063", "0x006f", "0x0076"}


@functools.cache
def accelerator_names() -> tuple[str, ...]:
    """The names of the NVIDIA devices that the driver shows and CUDA_VISIBLE_DEVICES does not hide."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and visible.strip() in {"", "-1"}:
        return ()
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # no library, no driver, no permission: all mean no device
        return ()
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        names = [str(pynvml.nvmlDeviceGetName(handle)) for handle in handles]
        uuids = [str(pynvml.nvmlDeviceGetUUID(handle)) for handle in handles]
    finally:
        pynvml.nvmlShutdown()
    by_bus = os.environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    return tuple(names if visible is None else visible_devices(visible, names, uuids, by_bus=by_bus))


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
    import pynvml

    pynvml.nvmlInit()
    try:
        return str(pynvml.nvmlSystemGetDriverVersion())
    finally:
        pynvml.nvmlShutdown()


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
    if tpus := count_tpus():
        found["tpu"] = tpus
    return found


def count_tpus(devices: Path = Path("/sys/bus/pci/devices")) -> int:
    """How many chips of Google's TPUs the bus shows."""
    try:
        found = [_word(path / "device") for path in devices.iterdir() if _word(path / "vendor") == _GOOGLE]
    except OSError:  # no such bus
        return 0
    return sum(device in _TPUS for device in found)


def _word(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def missing_device(device: str, counts: Mapping[str, int | None] | None = None) -> str | None:
    """Why a profile for `device` cannot run where there are so many devices (by default here); None if nothing speaks
    against it.

    The last word has the backend, in the round itself; this is what can be known without loading it.
    """
    kind, index = split_device(device)
    if kind not in NAMES:
        return None
    counts = device_counts() if counts is None else counts
    if kind not in counts:
        return f"no {NAMES[kind]} device"
    there = counts[kind]
    return None if index is None or there is None else too_high(kind, index, there)
