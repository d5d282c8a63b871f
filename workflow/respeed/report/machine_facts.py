"""What the report says about a machine: hardware, software, and how clean its measurements were."""

from typing import Any

from respeed.analysis.columns import rows_of
from respeed.tables.build import Tables

PARTS = ("hardware", "rounds", "software", "measured")


def machine_facts(machine: str, tables: Tables) -> dict[str, Any]:
    """Texts about one machine, from its records and its sheet."""
    facts = tables.facts[tables.facts["machine"] == machine]
    parts = {name: mine[["fact", "value"]].to_numpy().tolist() for name, mine in facts.groupby("part")}
    backends = rows_of(tables.backends[tables.backends["machine"] == machine])
    return {
        "name": machine,
        "summary": parts["summary"][0][1],
        **{name: parts.get(name, []) for name in PARTS},
        "backends": [_backend(row) for row in backends],
    }


def _backend(row: Any) -> list[str]:
    """A profile's library, kernel, threads and largest error, as the measuring process found them."""
    error = "–" if row.error is None else f"{row.error:.0e}"
    ran = f"{row.threads} asked, {row.threads_ran or 'not seen'} ran"
    return [row.label, row.library, row.kernel, ran, row.precision, error]
