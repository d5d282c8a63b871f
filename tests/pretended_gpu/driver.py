"""A doctored NVIDIA driver: what libcuda.so.1, libnvidia-ml.so.1 and torch's runtime say of it, by setting.

    project.run("python", "-m", "respeed", "hardware", check=False, **TOO_OLD.environment(project.folder))
    V100.environment(project.folder)  # likewise: torch sees a device that none of its kernels is built for
    Driver(fails={"nvmlDeviceGetPowerUsage": NOT_SUPPORTED}).environment(...)  # one query of NVML's fails
    Driver(tells={"nvmlDeviceGetClockInfo": 1110, "nvmlDeviceGetComputeRunningProcesses_v3": 2}).environment(...)

runtime/nvml.c has the queries that NVML answers, and what by default. It holds for a process that is started with this
environment, and all that it starts. NVML looks at the variable PRETENDED_NVML at every query, so that such a process
may change what is told: `in_words` says how it is written.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.pretended_gpu.environment import environment

# Of NVML's errors.
NOT_SUPPORTED, NO_PERMISSION, DRIVER_NOT_LOADED, FUNCTION_NOT_FOUND, GPU_IS_LOST = 3, 4, 9, 13, 15


@dataclass(frozen=True)
class Driver:
    """`cuda` is the newest that the driver runs, as CUDA writes it: 12040 is 12.4. `capability` is the device's: 75 is
    7.5. `tells` has the number that an NVML query tells, `fails` the error that one ends in."""

    name: str = "Pretended GPU (no device)"
    version: str = "580.95.05"
    cuda: int = 13000
    capability: int = 90
    tells: Mapping[str, int] = field(default_factory=dict)
    fails: Mapping[str, int] = field(default_factory=dict)

    def environment(
        self, allowed: Path | None = None, *, memory: int | None = None, preloaded: bool = True
    ) -> dict[str, str]:
        """What to add to a process's environment. In the project's copy at `allowed` it may be described and measured,
        at the smoke preset. Where it is not `preloaded`, torch's own runtime asks the driver: enough for one that is
        too old, or for NVML alone, and nothing then tells respeed that the device is a pretended one."""
        added = environment(memory=memory)
        if not preloaded:
            added = {key: added[key] for key in ("LD_LIBRARY_PATH", "PRETENDED_GPU", "CUDA_VISIBLE_DEVICES")}
        elif allowed:
            added["PYTHONPATH"] = os.pathsep.join([str(allowed / "workflow"), added["PYTHONPATH"]])
        return (
            added
            | ({"RESPEED_PRETENDED_GPU": str(allowed)} if allowed else {})
            | {
                "PRETENDED_GPU_NAME": self.name,
                "PRETENDED_GPU_DRIVER": self.version,
                "PRETENDED_GPU_CUDA": str(self.cuda),
                "PRETENDED_GPU_CAPABILITY": str(self.capability),
                "PRETENDED_NVML": in_words(self.tells, self.fails),
            }
        )


def in_words(tells: Mapping[str, int], fails: Mapping[str, int]) -> str:
    """As the pretended NVML reads it."""
    return " ".join(
        [f"{query}={told}" for query, told in tells.items()] + [f"{q}=!{error}" for q, error in fails.items()]
    )


TOO_OLD = Driver("Pretended A100", "550.54.15", 12040, 80)
V100 = Driver("Pretended V100", "580.95.05", 13000, 70)
T4 = Driver("Pretended T4", "580.95.05", 13000, 75)
