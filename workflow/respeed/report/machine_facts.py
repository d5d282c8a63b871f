"""What the report says about a machine: hardware, software, and how clean its measurements were."""

from collections import Counter
from typing import Any

from respeed.tables.build import Tables


def machine_facts(machine: str, tables: Tables) -> dict[str, Any]:
    """Texts about one machine, from its records and its sheet."""
    records = [record for record in tables.records if record["id"]["machine"] == machine]
    hardware = (records[-1]["provenance"] if records else {}).get("machine") or tables.sheets[machine]["hardware"]
    cells = [cell for key, cell in tables.rounds.items() if key.machine == machine]
    causes = sum((cell.causes for cell in cells), Counter[str]())
    discarded = f"{sum(cell.discarded for cell in cells)} discarded"
    if causes:
        discarded += f" ({', '.join(f'{cause}: {count}' for cause, count in causes.most_common())})"
    dates = sorted({record["started"][:10] for record in records})
    return {
        "name": machine,
        "summary": _summary(hardware),
        "hardware": _hardware(hardware),
        "software": _software(records),
        "backends": _backends(records),
        "measured": [
            ["measured", " to ".join(dict.fromkeys([dates[0], dates[-1]])) + " (UTC)" if dates else "nothing yet"],
            ["rounds", str(len(records))],
            [
                "timed blocks",
                f"{sum(cell.blocks for cell in cells)}, of which {discarded}",
            ],
            ["source", ", ".join(sorted({record["provenance"]["commit"] for record in records})) or "–"],
            ["seed", ", ".join(sorted({str(record["seed"]) for record in records})) or "–"],
        ],
    }


def _summary(hardware: dict[str, Any]) -> str:
    accelerators = ", ".join(hardware["accelerators"]) or "no accelerator"
    return f"{hardware['cpu']}, {hardware['usable_cores']} usable cores, {accelerators}"


def _hardware(hardware: dict[str, Any]) -> list[list[str]]:
    return [
        ["CPU", hardware["cpu"]],
        ["vector extensions", ", ".join(hardware["cpu_flags"]) or "unknown"],
        ["usable physical cores", f"{hardware['usable_cores']} of {hardware['logical_cpus']} logical CPUs"],
        ["CPU quota", "none" if hardware["cpu_quota"] is None else f"{hardware['cpu_quota']:g} CPUs"],
        ["memory", f"{hardware['memory_bytes'] / 2**30:.0f} GiB"],
        ["accelerators", ", ".join(hardware["accelerators"]) or "none"],
        ["system", hardware["system"]],
    ]


def _software(records: list[dict[str, Any]]) -> list[list[str]]:
    versions: dict[str, set[str]] = {}
    for record in records:
        for name, number in record["provenance"].get("versions", {}).items():
            versions.setdefault(name, set()).add(number)
    return [[name, ", ".join(sorted(numbers))] for name, numbers in versions.items()]


def _backends(records: list[dict[str, Any]]) -> list[list[str]]:
    """For every profile that ran: its library, kernel and threads, as the measuring process found them."""
    rows: dict[str, list[str]] = {}
    for record in records:
        backend = record["provenance"].get("backend")
        if backend:
            seen = {
                block["threads_ran"]
                for case in record["cases"]
                for block in case["blocks"]
                if block["threads_ran"] is not None
            }
            rows[record["profile"]["name"]] = [
                record["profile"]["label"],
                " ".join(str(backend[key]) for key in ("library", "version") if key in backend),
                str(backend.get("kernel", backend.get("accelerator", "–"))),
                f"{record['threads']} asked, {' or '.join(map(str, sorted(seen))) or 'not seen'} ran",
                record["profile"]["precision"],
            ]
    return [rows[name] for name in sorted(rows)]
