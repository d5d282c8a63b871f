"""What each machine is, and with what its records were made, a row a machine: results/tables/hardware.csv."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from respeed.estimators.rounds import CellKey, CellRounds
from respeed.tables.row_labels import tell_apart

COLUMNS = (
    "machine", "cpu", "usable_cores", "accelerators", "memory_bytes", "system", "first_day", "last_day", "rounds",
    "blocks", "discarded",
)  # fmt: skip


@dataclass(frozen=True)
class Backend:
    """What multiplied on a profile, as the measuring process found it; `ran` are the numbers of threads that did,
    `error` is the largest against float64 of any array of any case, over the array's largest value."""

    profile: str
    label: str
    library: str
    kernel: str
    threads: int
    ran: tuple[int, ...]
    precision: str
    error: float | None


@dataclass(frozen=True)
class Origin:
    """One machine. Days are of UTC, None where there are no records; `rounds` counts these.

    Not in the file: `hardware` (all of its facts), `commits`, `seeds`, `versions` (by library), `backends` (by profile)
    and `causes`, for which blocks were discarded.
    """

    machine: str
    hardware: Mapping[str, Any]
    first_day: str | None
    last_day: str | None
    rounds: int
    blocks: int
    discarded: int
    causes: Counter[str]
    commits: tuple[str, ...]
    seeds: tuple[int, ...]
    versions: Mapping[str, tuple[str, ...]]
    backends: tuple[Backend, ...]

    @property
    def cpu(self) -> str:
        return str(self.hardware["cpu"])

    @property
    def usable_cores(self) -> int:
        return int(self.hardware["usable_cores"])

    @property
    def accelerators(self) -> str:
        return ", ".join(self.hardware["accelerators"])

    @property
    def memory_bytes(self) -> int:
        return int(self.hardware["memory_bytes"])

    @property
    def system(self) -> str:
        return str(self.hardware["system"])


def describe_origin(
    machine: str,
    records: list[dict[str, Any]],
    rounds: Mapping[CellKey, CellRounds],
    sheet: Mapping[str, Any] | None,
) -> Origin:
    """The origin of one machine's records, of which `rounds` were collected; where there are none, its sheet's."""
    hardware = (records[-1]["provenance"] if records else {}).get("machine") or (sheet or {})["hardware"]
    days = sorted(record["started"][:10] for record in records)
    return Origin(
        machine=machine,
        hardware=hardware,
        first_day=days[0] if days else None,
        last_day=days[-1] if days else None,
        rounds=len(records),
        blocks=sum(cell.blocks for cell in rounds.values()),
        discarded=sum(cell.discarded for cell in rounds.values()),
        causes=sum((cell.causes for cell in rounds.values()), Counter[str]()),
        commits=tuple(sorted({record["provenance"]["commit"] for record in records})),
        seeds=tuple(sorted({record["seed"] for record in records}, key=str)),
        versions=_versions(records),
        backends=_backends(records),
    )


def _versions(records: Iterable[dict[str, Any]]) -> dict[str, tuple[str, ...]]:
    versions: dict[str, set[str]] = {}
    for record in records:
        for name, number in record["provenance"].get("versions", {}).items():
            versions.setdefault(name, set()).add(number)
    return {name: tuple(sorted(numbers)) for name, numbers in versions.items()}


def _backends(records: Iterable[dict[str, Any]]) -> tuple[Backend, ...]:
    found: dict[str, Backend] = {}
    for record in records:
        backend = record["provenance"].get("backend")
        if backend:
            errors = [error for case in record["cases"] for error in case["errors"].values() if error is not None]
            earlier = found.get(record["profile"]["name"])
            if earlier and earlier.error is not None:
                errors.append(earlier.error)
            blocks = [block for case in record["cases"] for block in case["blocks"]]
            profile = record["profile"]
            found[profile["name"]] = Backend(
                profile=profile["name"],
                label=profile["label"],
                library=" ".join(str(backend[key]) for key in ("library", "version") if key in backend),
                kernel=str(backend.get("kernel", backend.get("accelerator", "–"))),
                threads=record["threads"],
                ran=tuple(sorted({block["threads_ran"] for block in blocks} - {None})),
                precision=profile["precision"],
                error=max(errors, default=None),
            )
    labels = tell_apart({name: {"label": backend.label} for name, backend in found.items()})
    return tuple(replace(found[name], label=labels[name]["label"]) for name in sorted(found))
