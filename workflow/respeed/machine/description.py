"""The machine's name, the facts about it that a record carries, and a mark that tells it from another of its kind."""

import hashlib
import os
import platform
import re
from pathlib import Path
from typing import Any

import psutil

from respeed.machine.accelerators import accelerator_driver, accelerator_names
from respeed.machine.cpu import core_cpus, cpu_flags, cpu_model, frequency_governor, usable_cores
from respeed.machine.fingerprint import hardware_digits
from respeed.machine.limits import cpu_quota
from respeed.machine.process import output_of, read_word
from respeed.machine.software import scipy_library

_NOISE = re.compile(r"\((r|tm|c)\)|\bcpu\b|\bprocessor\b|\b\d+-core\b|@.*|\bwith\b.*|\bnvidia\b", re.IGNORECASE)
# Not the number itself, which systemd asks to keep secret. With a purpose mixed in, nobody can work it out, or find the
# mark again in what another program made of it.
_PURPOSE = b"respeed: which machine a record was made on"
_HOST_FILES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


def machine_slug() -> str:
    """Return a readable name of this machine, such as intel-xeon-gold-6354-16c-h200-3fa9.

    CPU, usable cores and accelerators, and four digits of a hash of the hardware, so that no two machines share it.
    """
    parts = [_words(cpu_model()), f"{len(usable_cores())}c"]
    accelerators = accelerator_names()
    for name in dict.fromkeys(accelerators):
        count = accelerators.count(name)
        parts.append(f"{count}x-{_words(name)}" if count > 1 else _words(name))
    return f"{'-'.join(parts)[:59].rstrip('-')}-{hardware_digits(describe_machine())}"


def _words(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", _NOISE.sub(" ", name).lower()).strip("-") or "unknown"


def describe_machine() -> dict[str, Any]:
    """Return facts about the hardware and the operating system, for records and the machine's own description."""
    return {
        "cpu": cpu_model(),
        "cpu_flags": cpu_flags(),
        "architecture": platform.machine(),
        "physical_cores": psutil.cpu_count(logical=False),
        "usable_cores": len(usable_cores()),
        "core_cpus": core_cpus(),
        "logical_cpus": os.cpu_count(),
        "cpu_quota": cpu_quota(),
        "frequency_governor": frequency_governor(),
        "memory_bytes": psutil.virtual_memory().total,
        "accelerators": list(accelerator_names()),
        "accelerator_driver": accelerator_driver(),
        "blas": scipy_library(),
        "host": host_mark(),
        "system": f"{platform.system()} {platform.release()}",
    }


def host_mark(files: tuple[Path, ...] = _HOST_FILES) -> str | None:
    """Sixteen hexadecimal digits made of the number that the system gave itself; None where it has none."""
    number = next(filter(None, map(read_word, files)), None) or _of_macos()
    return hashlib.sha256(_PURPOSE + number.encode()).hexdigest()[:16] if number else None


def _of_macos() -> str:
    found = re.search(r'"IOPlatformUUID" = "([^"]+)"', output_of("ioreg", "-rd1", "-c", "IOPlatformExpertDevice"))
    return found[1] if found else ""
