"""The accelerators of this machine, found without importing torch."""

import functools
import os
import platform
from pathlib import Path


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
        count = pynvml.nvmlDeviceGetCount()
        names = [pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(index)) for index in range(count)]
    finally:
        pynvml.nvmlShutdown()
    if visible is None:
        return tuple(names)
    chosen = [part.strip() for part in visible.split(",")]
    return tuple(names[int(part)] for part in chosen if part.isdigit() and int(part) < count) or tuple(names)


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


def missing_device(device: str) -> str | None:
    """Why a profile for `device` cannot run here; None if nothing speaks against it.

    The last word has the backend, in the round itself; this is what can be known without loading it.
    """
    found = {
        "cpu": True,
        # ROCm devices are cuda in torch; the kernel's driver shows itself as /dev/kfd.
        "cuda": bool(accelerator_names()) or Path("/dev/kfd").exists(),
        "xpu": Path("/dev/dri").exists(),
        "mps": platform.system() == "Darwin" and platform.machine() == "arm64",
    }
    names = {"cuda": "CUDA", "xpu": "XPU", "mps": "MPS"}
    return None if found.get(device, True) else f"no {names[device]} device"
