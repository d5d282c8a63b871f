"""What the report says about a machine: hardware, software, and how clean its measurements were."""

from collections.abc import Mapping
from typing import Any

from respeed.records.fingerprint import FIELDS
from respeed.tables.origins import Backend, Origin
from respeed.tables.round_facts import OF_ROUNDS, all_written

UNKNOWN = "unknown"


def machine_facts(origin: Origin) -> dict[str, Any]:
    """Texts about one machine, from its records and its sheet."""
    discarded = f"{origin.discarded} discarded"
    if origin.causes:
        discarded += f" ({', '.join(f'{cause}: {count}' for cause, count in origin.causes.most_common())})"
    days = [day for day in (origin.first_day, origin.last_day) if day]
    return {
        "name": origin.machine,
        "summary": _summary(origin.hardware),
        "hardware": _hardware(origin),
        "rounds": [
            *([name, all_written(fact, origin.seen.get(fact, ())) or UNKNOWN] for fact, name in OF_ROUNDS.items()),
            *([["steps without graphs", origin.without_graphs]] if origin.plain_steps else []),
            *([["between products", origin.elementwise]] if origin.between_products else []),
        ],
        "software": [
            *([name, ", ".join(numbers)] for name, numbers in origin.versions.items()),
            *([["libraries", ", ".join(origin.libraries)]] if origin.libraries else []),
        ],
        "backends": [_backend(backend) for backend in origin.backends],
        "measured": [
            ["measured", f"{' to '.join(dict.fromkeys(days))} (UTC)" if days else "nothing yet"],
            ["rounds", str(origin.rounds) + _unchecked(origin)],
            ["timed blocks", f"{origin.blocks}, of which {discarded}"],
            ["source", ", ".join(origin.commits) or "–"],
            ["seed", ", ".join(map(str, origin.seeds)) or "–"],
        ],
    }


def _unchecked(origin: Origin) -> str:
    """How many of its records nothing tells whether they were changed."""
    if not origin.unchecked:
        return ""
    return f", of which {origin.unchecked} without a checksum: nothing tells whether they were changed"


def _summary(hardware: Mapping[str, Any]) -> str:
    accelerators = ", ".join(hardware.get("accelerators", ())) or "no accelerator"
    return f"{hardware.get('cpu', UNKNOWN)}, {hardware.get('usable_cores', UNKNOWN)} usable cores, {accelerators}"


def _hardware(origin: Origin) -> list[list[str]]:
    """The fingerprint, and what of the machine may be used."""
    rows = [[name, all_written(fact, origin.seen.get(fact, ())) or UNKNOWN] for fact, name in FIELDS.items()]
    logical = origin.hardware.get("logical_cpus") or UNKNOWN
    return [
        [name, f"{text} of {logical} logical CPUs" if name == FIELDS["usable_cores"] else text] for name, text in rows
    ]


def _backend(backend: Backend) -> list[str]:
    """A profile's library, kernel, threads and largest error, as the measuring process found them."""
    ran = " or ".join(map(str, backend.ran)) or "not seen"
    return [
        backend.label, backend.library, backend.kernel, f"{backend.threads} asked, {ran} ran", backend.precision,
        "–" if backend.error is None else f"{backend.error:.0e}",
    ]  # fmt: skip
