"""Devices, as torch and the profiles call them: "cpu", "cuda", "cuda:1"; and "tpu"."""

# Of accelerators: what people call them.
NAMES = {"cuda": "CUDA", "xpu": "XPU", "mps": "MPS", "tpu": "TPU"}


def split_device(device: str) -> tuple[str, int | None]:
    """The kind of a device and its number, if it names one: ("cuda", 1) of "cuda:1", ("cuda", None) of "cuda"."""
    kind, colon, index = device.partition(":")
    return kind, int(index) if colon else None


def too_high(kind: str, index: int, there: int) -> str | None:
    """Why there is no device of that number among so many of its kind; None if there is one."""
    if index < there:
        return None
    return f"no {NAMES[kind]} device {index}: there {'is' if there == 1 else 'are'} {there}, numbered from 0"
