"""A hardware profile: one row of our tables, how to run."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Profile:
    """One file of workflow/hardware. `architecture` is the paper's row it answers; `threads` may be "all". An
    `optional` one is measured only where it is named."""

    name: str
    label: str
    package: str
    architecture: str
    backend: str
    device: str
    threads: int | Literal["all"]
    precision: str
    optional: bool = False

    @property
    def is_cpu(self) -> bool:
        return self.device == "cpu"
