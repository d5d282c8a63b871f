"""Machines beside one another, each by its fastest row in fp32, whatever the algorithm.

results/tables/machines.csv: in each case every machine over the fastest of all. standings.csv: where each stands in
each table. spread.csv: how far they lie apart, for readers of many of them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from respeed.analysis.columns import TABLES, apply_dtypes, make_frame, rows_of
from respeed.analysis.estimates import (
    FULL_PRECISION,
    RIVAL,
    TWO_LOOKS,
    compare_apart,
    confidence_among,
    place_machines,
    verdict_of,
)
from respeed.analysis.rounds import key_of, seconds_by_session

CASE = ["paper", "experiment", "case"]
# As pandas describes a sample, and as tables call it.
QUANTILES = {
    "count": "machines", "min": "lowest", "25%": "lower_quartile", "50%": "median", "75%": "upper_quartile",
    "max": "highest",
}  # fmt: skip


def fastest_rows(cells: pd.DataFrame) -> pd.DataFrame:
    """Of every measured case and machine the fastest row in fp32, case by case."""
    timed = cells[(cells["seconds"] > 0) & (cells["precision"] == FULL_PRECISION)]
    return timed.loc[timed.groupby([*CASE, "machine"], sort=False)["seconds"].idxmin()]


def compare_machines(cells: pd.DataFrame, rounds: pd.DataFrame) -> pd.DataFrame:
    """A row for every machine and case that more than one machine measured: the fastest machine's seconds over its.

    A machine whose verdict is indistinguishable shares the first place. As with speedups, rivals of the fastest are
    compared with more confidence.
    """
    seconds, rows = seconds_by_session(rounds), []
    for _, column in fastest_rows(cells).groupby(CASE, sort=False):
        if len(column) < 2:
            continue
        mine = list(rows_of(column))
        base = min(mine, key=lambda cell: cell.seconds)
        among = confidence_among(sum(cell.seconds <= RIVAL * base.seconds for cell in mine))
        for cell in mine:
            found: dict[str, Any] = {"speedup": 1.0, "verdict": "base", "reason": ""}
            if cell is not base:
                confidence = among if cell.seconds <= RIVAL * base.seconds else TWO_LOOKS
                ratio = compare_apart(seconds[key_of(base)], seconds[key_of(cell)], confidence)
                verdict, reason = verdict_of(ratio)
                found = {"speedup": ratio.value, "speedup_low": ratio.low, "speedup_high": ratio.high}
                found |= {"verdict": verdict, "reason": reason}
            bases = {f"base_{name}": getattr(base, name) for name in ("machine", "algorithm", "profile")}
            rows.append(cell._asdict() | bases | found)
    return make_frame(rows, "machines")


def rank_machines(cells: pd.DataFrame, rounds: pd.DataFrame) -> pd.DataFrame:
    """A row for every machine and table that more than one machine measured, the fastest first.

    `share` is its speed over that of the machines that share the first place, the geometric mean over `cases`. `rank`
    is one more than the number of machines that are proven to be faster, among the `machines` that measured
    `all_cases`: machines that cannot be told apart share a place. A machine that did not measure all has no rank.
    """
    fastest = fastest_rows(cells)
    fastest = fastest[fastest.groupby(CASE)["machine"].transform("size") > 1]
    seconds = seconds_by_session(rounds)
    speeds = [-np.log(np.concatenate(list(seconds[key_of(cell)].values()))) for cell in rows_of(fastest)]
    fastest = fastest.assign(speed=[float(np.median(one)) for one in speeds])
    by_row = dict(zip(fastest.index, speeds, strict=True))
    tables = []
    for _, table in fastest.groupby(["paper", "experiment"], sort=False):
        by_machine = table.groupby("machine", sort=False)
        rows = pd.DataFrame({"cases": by_machine.size()})
        most = rows["cases"].max()
        whole = list(rows.index[rows["cases"] == most])
        places = place_machines([[by_row[row] for row in by_machine.groups[name]] for name in whole])
        rows["rank"] = pd.Series(places, index=whole, dtype="Int64").reindex(rows.index)
        first = table[table["machine"].map(rows["rank"] == 1)].groupby("case")["speed"].mean()
        behind = (table["speed"] - table["case"].map(first)).groupby(table["machine"]).mean()
        rows = rows.assign(share=np.exp(behind), machines=len(whole), all_cases=most)
        rows["paper"], rows["experiment"] = table["paper"].iloc[0], table["experiment"].iloc[0]
        rows = rows.rename_axis("machine").reset_index()
        tables.append(rows.sort_values(["rank", "share"], ascending=[True, False]))
    return apply_dtypes(pd.concat(tables), "standings") if tables else make_frame([], "standings")


def measure_spread(cells: pd.DataFrame, speedups: pd.DataFrame) -> pd.DataFrame:
    """A row for every case and quantity that more than one machine has a number of, in fp32: the seconds of every
    machine's fastest row, or its accelerator's highest speedup."""
    full = speedups[(speedups["precision"] == FULL_PRECISION) & ~speedups["is_cpu"] & (speedups["speedup"] > 0)]
    seconds = fastest_rows(cells).groupby(CASE, sort=False)["seconds"]
    factors = full.groupby([*CASE, "machine"], sort=False)["speedup"].max().groupby(CASE, sort=False)
    spreads = [
        groups.describe().loc[groups.size() > 1].reset_index().assign(quantity=quantity)
        for quantity, groups in (("seconds", seconds), ("speedup", factors))
    ]
    found = pd.concat(spreads, ignore_index=True).rename(columns=QUANTILES)
    return apply_dtypes(found.reindex(columns=list(TABLES["spread"].columns)), "spread")


def change_spread(one: Any, change: Callable[[float], float], quantity: str) -> Any:
    """A row of the spread, of another quantity that `change` makes of the first: it only rises, or only falls."""
    names = list(QUANTILES.values())[1:]
    changed = sorted(change(getattr(one, name)) for name in names)
    return one._replace(quantity=quantity, **dict(zip(names, changed, strict=True)))
