"""The machine's name and the facts about it that a record carries."""

import os
import platform
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import psutil

from respeed.control_group import cpu_quota
from respeed.kernels.blas import scipy_library
from respeed.machine.accelerators import accelerator_driver, accelerator_names, device_counts
from respeed.machine.cpu import cpu_flags, cpu_model, frequency_governor, socket_count, usable_cores
from respeed.machine.host import host_mark
from respeed.machine.topology import kind_counts, usable_topology
from respeed.model.cpus import Core, cores_as_facts

_NOISE = re.compile(r"\((r|tm|c)\)|\bcpu\b|\bprocessor\b|\b\d+-core\b|@.*|\bwith\b.*|\bnvidia\b", re.IGNORECASE)


def machine_slug() -> str:
    """A readable name of this machine: CPU, usable cores, accelerators; such as intel-xeon-gold-6354-16c-h200."""
    parts = [_words(cpu_model()), f"{len(usable_cores())}c"]
    accelerators = accelerator_names()
    for name in dict.fromkeys(accelerators):
        count = accelerators.count(name)
        parts.append(f"{count}x-{_words(name)}" if count > 1 else _words(name))
    return "-".join(parts)[:64].rstrip("-")


def _words(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", _NOISE.sub(" ", name).lower()).strip("-") or "unknown"


def describe_machine() -> dict[str, Any]:
    """Facts about the hardware and the operating system, for records and the machine's own sheet."""
    cores, topology = usable_cores(), usable_topology()
    return {
        "cpu": cpu_model(),
        "cpu_flags": cpu_flags(),
        "architecture": platform.machine(),
        "sockets": socket_count(),
        "physical_cores": psutil.cpu_count(logical=False),
        "usable_cores": len(cores),
        "cores": None if topology is None else cores_as_facts(topology),
        "core_kinds": _kinds(topology) if topology else kind_counts(),
        "logical_cpus": os.cpu_count(),
        "cpu_quota": cpu_quota(),
        "frequency_governor": frequency_governor(),
        "memory_bytes": psutil.virtual_memory().total,
        "accelerators": list(accelerator_names()),
        "devices": device_counts(),
        "accelerator_driver": accelerator_driver(),
        "blas": scipy_library(),
        "host": host_mark(),
        "system": f"{platform.system()} {platform.release()}",
    }


def _kinds(cores: Iterable[Core]) -> dict[str, int]:
    """How many of the cores are of each kind; nothing where all are alike."""
    return dict(Counter(core.kind for core in cores if core.kind))
