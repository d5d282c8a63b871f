"""The claims of a paper, checked against its tables."""

from collections.abc import Mapping
from typing import Any

from respeed.errors import UserError, nearest
from respeed.inputs.modules import workload_parameters
from respeed.model.claim import Claim
from respeed.model.paper import Experiment
from respeed.model.published import PublishedRow

# What each test needs beside a row, and no other may have.
NEEDS = {
    "each": ("over",),
    "largest": ("over",),
    "growth": ("over",),
    "total": ("over",),
    "faster": ("over",),
    "crossover": ("over",),
    "limited": ("over_case", "by"),
    "memory": (),
}


def read_claim(
    name: str,
    data: Mapping[str, Any],
    experiments: Mapping[str, Experiment],
    rows: Mapping[str, PublishedRow],
    where: str,
) -> Claim:
    """The claim `name`; UserError, a line that begins with `where`, for one about what is not there."""
    if data["experiment"] not in experiments:
        raise UserError(
            f"{where}.experiment: no experiment {data['experiment']!r}{nearest(data['experiment'], experiments)}"
        )
    _check_keys(data, where)
    over = data.get("over", [])
    for key, row in (("row", data["row"]), *(("over", row) for row in over)):
        if row not in rows:
            raise UserError(f"{where}.{key}: no row {row!r}{nearest(row, rows)}")
    if "over" in data and not over:
        raise UserError(f"{where}.over: names no row{nearest('', rows)}")
    if data["row"] in over:
        raise UserError(f"{where}.over: {data['row']} is the claim's own row; name what it is compared with")
    experiment = experiments[data["experiment"]]
    for one in over:
        if not experiment.algorithms and _alike(rows[data["row"]], rows[one]):
            raise UserError(
                f"{where}.over: {one} stands beside the same rows of ours as {data['row']}: they cannot differ"
            )
    if data["test"] == "total" and experiment.total is None:
        raise UserError(f"{where}.test: {data['experiment']} has no total; name a table that has one, or test each")
    if data["test"] == "limited":
        _check_scaling(data, experiment, where)
    return Claim(
        name, data["says"], data["test"], data["experiment"], data["row"], tuple(over), data.get("threads"),
        data.get("over_case", ""), data.get("by", ""),
    )  # fmt: skip


def _alike(one: PublishedRow, other: PublishedRow) -> bool:
    """Whether the same rows of ours answer both."""
    return bool(set(one.beside) & set(other.beside)) and (one.precision or "fp32") == (other.precision or "fp32")


def _check_keys(data: Mapping[str, Any], where: str) -> None:
    needed = NEEDS[data["test"]]
    for key in needed:
        if key not in data:
            raise UserError(f"{where}: the key {key!r} is missing: the test {data['test']} needs it")
    for key in ("over", "over_case", "by"):
        if key in data and key not in needed:
            raise UserError(f"{where}.{key}: the test {data['test']} does not have it; leave it out")


def _check_scaling(data: Mapping[str, Any], experiment: Experiment, where: str) -> None:
    if data["over_case"] not in experiment.case_names():
        known = nearest(data["over_case"], experiment.case_names())
        raise UserError(f"{where}.over_case: no case {data['over_case']!r}{known}")
    for case in experiment.cases:
        if data["by"] not in case.parameters:
            known = nearest(data["by"], workload_parameters()[case.workload])
            raise UserError(f"{where}.by: {case.name} has no parameter {data['by']!r}{known}")
    sizes = {case.name: case.parameters[data["by"]] for case in experiment.cases}
    first = sizes.pop(data["over_case"])
    if any(isinstance(size, str) or size <= first for size in sizes.values()) or isinstance(first, str) or first <= 0:
        raise UserError(
            f"{where}.by: {data['by']} must be a number that is larger in every case than in {data['over_case']}"
        )
