"""A hardware profile: one row of our tables, how to run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Profile:
    """One file of workflow/hardware. `architecture` is the paper's row it answers; `device` may name one of several,
    "cuda:1"; `threads` may be "all". `cpus` are those that threads may run on, as text (`model.cpus`), and with `smt`
    there is one on every logical CPU of a core. `requires` is what must be there. An `optional` one is measured only
    where it is named."""

    name: str
    label: str
    package: str
    architecture: str
    backend: str
    device: str
    threads: int | Literal["all"]
    precision: str
    cpus: str | None = None
    smt: bool = False
    requires: Mapping[str, Any] = field(default_factory=dict, hash=False)
    optional: bool = False

    @property
    def is_cpu(self) -> bool:
        return self.device == "cpu"
