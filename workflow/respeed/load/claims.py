"""The claims of a paper, checked against its tables."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from respeed.model.claim import Claim
from respeed.model.errors import UserError, nearest
from respeed.model.names import check_name
from respeed.model.paper import Experiment


def load_claims(
    data: Mapping[str, Any], experiments: Mapping[str, Experiment], architectures: Collection[str], path: Path
) -> tuple[Claim, ...]:
    """The claims in `data`, the mapping `claims` of a paper's file; UserError for one about what is not there."""
    return tuple(
        _claim(check_name("claim", name, str(path)), one, experiments, architectures, f"{path}: claims.{name}")
        for name, one in data.items()
    )


def _claim(
    name: str,
    data: Mapping[str, Any],
    experiments: Mapping[str, Experiment],
    architectures: Collection[str],
    where: str,
) -> Claim:
    if data["experiment"] not in experiments:
        raise UserError(
            f"{where}.experiment: no experiment {data['experiment']!r}{nearest(data['experiment'], experiments)}"
        )
    for key, row in (("row", data["row"]), *(("over", row) for row in data["over"])):
        if row not in architectures:
            raise UserError(f"{where}.{key}: no architecture {row!r}{nearest(row, architectures)}")
    if data["row"] in data["over"]:
        raise UserError(f"{where}.over: {data['row']} would be compared with itself; name other architectures")
    if data["test"] == "total" and experiments[data["experiment"]].total is None:
        raise UserError(f"{where}.test: {data['experiment']} has no total; name a table that has one, or test each")
    return Claim(
        name, data["says"], data["test"], data["experiment"], data["row"], tuple(data["over"]), data.get("threads")
    )
