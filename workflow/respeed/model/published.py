"""What a paper prints: rows of tables, and the numbers in them."""

from dataclasses import dataclass

# The kinds of rows that hardware profiles are of, and that published rows stand beside.
CPU_ARCHITECTURES = ("single-cpu", "multi-cpu")
DEVICE_ARCHITECTURES = ("gpu", "tpu")
ARCHITECTURES = (*CPU_ARCHITECTURES, *DEVICE_ARCHITECTURES)

# Where a number stands: experiment, printed column, published row.
Place = tuple[str, str, str]


@dataclass(frozen=True)
class Hardware:
    """What a published row ran on. `flops_per_second` is the peak in the row's precision, `bytes_per_second` that of
    the memory; `source` says how both follow from what, `confidence` how well it is known (as of a fact)."""

    label: str
    flops_per_second: float
    bytes_per_second: float
    source: str
    confidence: str


@dataclass(frozen=True)
class PublishedRow:
    """One row of the published tables.

    `beside` are the architectures of ours whose rows stand beside it. `precision`, `device` and `algorithm` are empty,
    and `hardware` None, where the paper's file says nothing of them.
    """

    name: str
    label: str
    package: str
    beside: tuple[str, ...]
    year: int
    device: str = ""
    precision: str = ""
    algorithm: str = ""
    hardware: Hardware | None = None

    @property
    def is_cpu(self) -> bool:
        return self.beside[0] in CPU_ARCHITECTURES


@dataclass(frozen=True)
class Printed:
    """A number as it was printed: its `value` in the table's unit, and its `text`."""

    value: float
    text: str
