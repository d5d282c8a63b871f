"""Devices, as torch and the profiles call them: "cpu", "cuda", "cuda:1"; and "tpu". The accelerators of this machine,
found without importing torch, and the pretended GPU of the project's tests.
"""

import contextlib
import ctypes
import functools
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from respeed.errors import UserError
from respeed.machine.process import read_word

# Of accelerators: what people call them, and an NVIDIA device that does not tell its name.
NAMES = {"cuda": "CUDA", "xpu": "XPU", "mps": "MPS", "tpu": "TPU"}
NAMELESS = "NVIDIA GPU"
# The PCI bus, and on it the vendor, of network cards as well, and its TPUs: v2 and v3, plc, v4, v5p, v5e, v6e, 7x.
BUS = Path("/sys/bus/pci/devices")
_GOOGLE = "0x1ae0"
_TPUS = {"0x0027", "0x0056", "0x005e", "0x0062", "0x0063", "0x006f", "0x0076"}
# The kernel's drivers of GPUs that torch calls cuda, where NVML does not tell of them: AMD's; NVIDIA's, whose library
# may be missing or of another version than the driver; Jetson's; WSL2's.
_NODES = ("/dev/kfd", "/dev/nvidiactl", "/dev/nvhost-gpu", "/dev/nvgpu", "/dev/dxg")
# The first drivers for each major version of CUDA (NVIDIA: CUDA Compatibility, "Minor Version Compatibility", table 1).
LEAST_DRIVERS = {11: 450, 12: 525, 13: 580}
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


@dataclass(frozen=True)
class Answer:
    """What NVML says to one question, or why it does not say it: vGPUs, WSL2, MIG and Jetson leave much unsaid."""

    value: Any = None
    why_not: str = ""


def ask(driver: Any, query: str, *arguments: Any) -> Answer:
    """The answer to one query of NVML, such as "DeviceGetName". Each may fail alone; none ends what asks."""
    try:
        return Answer(getattr(driver, f"nvml{query}")(*arguments))
    except Exception as error:  # NVML's own, a function that an old library lacks, a text that is none
        return Answer(why_not=str(error) or type(error).__name__)


def are_hidden() -> bool:
    """Whether CUDA_VISIBLE_DEVICES hides all devices."""
    return (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None and visible.strip() in {"", "-1"}


@functools.cache
def accelerator_names() -> tuple[str, ...]:
    """The names of the NVIDIA devices that the driver shows and CUDA_VISIBLE_DEVICES does not hide."""
    if are_hidden():
        return ()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    with nvml() as driver:
        handles = [handle for parts in map(partial(_parts, driver), device_handles(driver)) for handle in parts]
        names = [str(ask(driver, "DeviceGetName", handle).value or NAMELESS) for handle in handles]
        uuids = [str(ask(driver, "DeviceGetUUID", handle).value or "") for handle in handles]
    if visible is None:
        # Where nothing names a slice, CUDA shows a program only one.
        slices = [name for name, uuid in zip(names, uuids, strict=True) if uuid.startswith("MIG-")]
        return tuple(slices[:1] or names)
    by_bus = os.environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    return tuple(visible_devices(visible, names, uuids, by_bus=by_bus))


def _parts(driver: Any, handle: Any) -> list[Any]:
    """The slices of a device in MIG mode, each a device of its own; else the device itself."""
    mode = ask(driver, "DeviceGetMigMode", handle).value
    count = ask(driver, "DeviceGetMaxMigDeviceCount", handle).value if mode and mode[0] else 0
    slices = [ask(driver, "DeviceGetMigDeviceHandleByIndex", handle, index).value for index in range(count or 0)]
    return [one for one in slices if one is not None] or [handle]


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
            ask(driver, "Shutdown")


def device_handles(driver: Any) -> list[Any]:
    """Of all NVIDIA devices that the driver shows; none without a driver."""
    count = ask(driver, "DeviceGetCount").value or 0
    handles = (ask(driver, "DeviceGetHandleByIndex", index).value for index in range(count))
    return [handle for handle in handles if handle is not None]


def visible_devices(visible: str, names: Sequence[str], uuids: Sequence[str], *, by_bus: bool = False) -> list[str]:
    """The names of those that CUDA_VISIBLE_DEVICES lists, by number, by the first letters of their UUID, or as a part
    of one (MIG-...). CUDA ends at the first that it does not know.

    The driver's numbers, which are those of `names`, are CUDA's too where it goes by the bus (CUDA_DEVICE_ORDER).
    Otherwise CUDA begins with the fastest: of unlike devices a number then says only that it is one of them.
    """
    found, alike = [], by_bus or len(set(names)) == 1
    for part in (word.strip() for word in visible.split(",")):
        if part.isdecimal():
            places = [int(part)]
        else:
            places = [place for place, uuid in enumerate(uuids) if part and uuid.startswith(part)]
        if part.startswith("MIG-") and names and not places:  # the driver names its slices in another way
            found.append(f"{names[0]} MIG")
            continue
        if part.startswith("GPU-") and not any(uuids) and names:
            places, part = [0], "0"
        if len(places) != 1 or places[0] >= len(names):
            break
        known = alike or not part.isdecimal()
        found.append(names[places[0]] if known else " or ".join(sorted(set(names))))
    return found


def accelerator_driver() -> str | None:
    """The version of the NVIDIA driver; None where there is none, or it does not say."""
    version: str | None = _first_facts().get("driver") if accelerator_names() else None
    return version


def clock_reader(device: str, pci: str | None) -> Callable[[], dict[str, float]]:
    """Tells, whenever it is called, what NVML says of the clock of the device at the address (Block.device), each fact
    as far as it does; nothing of other devices."""
    with contextlib.suppress(Exception):  # no library, no driver, no right, no such device
        if split_device(device)[0] == "cuda" and pci is not None:
            import pynvml

            pynvml.nvmlInit()
            return functools.partial(_clock, pynvml, pynvml.nvmlDeviceGetHandleByPciBusId(pci.encode()))
    return dict


def _clock(driver: Any, handle: Any) -> dict[str, float]:
    told: dict[str, float] = {}
    for fact, (query, of, unit) in _CLOCK:
        value = ask(driver, query, handle, *of).value
        if value is not None and 0 <= value * unit <= MOST_TOLD:  # beyond stands what is not available
            told.setdefault(fact, value * unit)
    return told


def accelerator_bytes() -> dict[str, int]:
    """By name, the memory of one NVIDIA device of those that the driver shows; empty where none tells."""
    every = device_facts() if accelerator_names() else []
    return {facts.get("name", NAMELESS): facts["memory_bytes"] for facts in every if "memory_bytes" in facts}


# What a record says of an NVIDIA device, by the query of NVML, what is asked of it, and what is made of the answer.
_COMPUTE_MODES = ("default", "exclusive thread", "prohibited", "exclusive process")
_SM, _MEMORY, _CORE = 1, 2, 0  # NVML_CLOCK_SM, NVML_CLOCK_MEM; NVML_TEMPERATURE_GPU
# Of a device's clock: the query, what of, and the unit. Reasons have had the second name before driver 535.
_CLOCK: tuple[tuple[str, tuple[str, tuple[int, ...], float]], ...] = (
    ("sm_mhz", ("DeviceGetClockInfo", (_SM,), 1)),
    ("highest_sm_mhz", ("DeviceGetMaxClockInfo", (_SM,), 1)),
    ("watts", ("DeviceGetPowerUsage", (), 1e-3)),
    ("celsius", ("DeviceGetTemperature", (_CORE,), 1)),
    ("reasons", ("DeviceGetCurrentClocksEventReasons", (), 1)),
    ("reasons", ("DeviceGetCurrentClocksThrottleReasons", (), 1)),
)
MOST_TOLD = 1e6
MOST_BYTES = 2**53
_FACTS: dict[str, tuple[str, tuple[int, ...], Callable[[Any], Any]]] = {
    "name": ("DeviceGetName", (), str),
    "memory_bytes": ("DeviceGetMemoryInfo", (), lambda told: int(told.total)),
    "capability": ("DeviceGetCudaComputeCapability", (), lambda told: f"{told[0]}.{told[1]}"),
    "power_limit_watts": ("DeviceGetPowerManagementLimit", (), lambda told: told / 1e3),
    "default_power_limit_watts": ("DeviceGetPowerManagementDefaultLimit", (), lambda told: told / 1e3),
    "clock_mhz": ("DeviceGetClockInfo", (_SM,), int),
    "highest_clock_mhz": ("DeviceGetMaxClockInfo", (_SM,), int),
    "memory_clock_mhz": ("DeviceGetClockInfo", (_MEMORY,), int),
    "highest_memory_clock_mhz": ("DeviceGetMaxClockInfo", (_MEMORY,), int),
    "temperature_celsius": ("DeviceGetTemperature", (_CORE,), int),
    "ecc": ("DeviceGetEccMode", (), lambda told: bool(told[0])),
    "compute_mode": ("DeviceGetComputeMode", (), lambda told: _COMPUTE_MODES[told]),
    "mig": ("DeviceGetMigMode", (), lambda told: bool(told[0])),
    "processes": ("DeviceGetComputeRunningProcesses", (), lambda told: sum(one.pid != os.getpid() for one in told)),
}


def device_facts(pci: str | None = None) -> list[dict[str, Any]]:
    """What NVML says of each NVIDIA device, or of the one at the address; `untold` has of each fact that it does not
    tell the reason."""
    with nvml() as driver:
        handles = device_handles(driver)
        if pci is not None and driver:
            handles = [found] if (found := ask(driver, "DeviceGetHandleByPciBusId", pci.encode()).value) else []
        return [_facts_of(driver, handle) for handle in handles]


def _facts_of(driver: Any, handle: Any) -> dict[str, Any]:
    facts, untold = dict[str, Any](), dict[str, str]()
    asked: dict[str, tuple[Answer, Callable[[Any], Any]]] = {
        "driver": (ask(driver, "SystemGetDriverVersion"), str),
        "driver_cuda": (
            ask(driver, "SystemGetCudaDriverVersion"),
            lambda number: f"{number // 1000}.{number % 1000 // 10}",  # as people write it: "12.4" of 12040
        ),
    }
    asked |= {key: (ask(driver, query, handle, *about), made) for key, (query, about, made) in _FACTS.items()}
    for key, (answer, made) in asked.items():
        if answer.value is None:
            untold[key] = answer.why_not
            continue
        try:
            fact = made(answer.value)
        except (LookupError, TypeError, ValueError, AttributeError):
            fact = None
        if fact is None or (
            isinstance(fact, int | float) and not 0 <= fact <= (MOST_BYTES if key == "memory_bytes" else MOST_TOLD)
        ):
            untold[key] = f"NVML says {answer.value}"[:100]
        else:
            facts[key] = fact
    return facts | ({"untold": untold} if untold else {})


def _first_facts() -> dict[str, Any]:
    return next(iter(device_facts()), {})


def device_users() -> list[list[int]]:
    """Of each NVIDIA device the other programs that compute on it, by the numbers of their processes on the host."""
    with nvml() as driver:
        told = (ask(driver, "DeviceGetComputeRunningProcesses", handle).value for handle in device_handles(driver))
        return [[one.pid for one in every or () if one.pid != os.getpid()] for every in told]


def old_driver(package: str, cuda: str, instead: str) -> str | None:
    """Why the driver runs nothing of a package that was built for this CUDA; None if it is new enough, or does not
    tell. CUDA of one major version runs on the drivers of that version, and on all later ones. `instead` is the way to
    a build of it for the CUDA {} that there is."""
    facts = _first_facts()
    there = str(facts.get("driver_cuda", cuda))
    needed, found = (int(version.partition(".")[0]) for version in (cuda, there))
    if found >= needed:
        return None
    update = (
        f"update the driver to {LEAST_DRIVERS[needed]} or later" if needed in LEAST_DRIVERS else "update the driver"
    )
    return (
        f"driver {facts.get('driver', 'of unknown version')} (CUDA {there}) is too old for this {package} "
        f"(CUDA {cuda}): {update}, or {instead.format(found)}"
    )


def has_amd() -> bool:
    """Whether the kernel has its driver of AMD's GPUs."""
    return Path("/dev/kfd").exists()


def device_counts() -> dict[str, int | None]:
    """How many devices there are of every kind that is here, as torch calls and numbers them, and TPUs as JAX does;
    None where it is not told without loading either."""
    found: dict[str, int | None] = {}
    if accelerator_names():
        found["cuda"] = len(accelerator_names())
    elif not are_hidden() and any(map(os.path.exists, _NODES)):
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
