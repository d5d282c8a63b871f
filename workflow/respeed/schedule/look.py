"""The look at the first rounds: which cells are worth measuring again, and which only together."""

import math
from collections.abc import Collection
from typing import Any

import pandas as pd

from respeed.analysis.cells import judge_cells, make_cells
from respeed.analysis.claims import open_claims
from respeed.analysis.columns import rows_of
from respeed.analysis.rounds import CellKey, key_of
from respeed.analysis.speedups import Samples, add_totals, compare_to_fastest_cpu
from respeed.model import Paper

# Why a cell is measured again, the most urgent first.
NO_INTERVAL, CLAIM_OPEN, UNDECIDED, WIDE = WHYS = ("no interval", "claim open", "undecided", "wide interval")


def judge(rounds: pd.DataFrame, asked: Collection[CellKey]) -> pd.DataFrame:
    """Return those cells that are asked for and that there are rounds of, in the order in which they are asked for."""
    places = {cell: place for place, cell in enumerate(asked)}
    judged = judge_cells(rounds)
    judged["place"] = [places.get(key_of(cell), math.nan) for cell in rows_of(judged)]
    judged = judged.dropna(subset="place").sort_values("place").rename(columns={"step": "seconds"})
    has_none = (judged["status"] == "contaminated") | (judged["seconds"].notna() & judged["step_low"].isna())
    return judged.assign(without=has_none)


def find_open(
    rounds: pd.DataFrame, asked: Collection[CellKey], papers: dict[str, Paper], most: int
) -> list[tuple[str, set[CellKey]]]:
    """Return sets of cells that are worth measuring again, each with the reason, the most urgent first.

    First those without an interval; then those that an open claim is about; then rows that cannot be told apart from
    the fastest, each with the row that it is compared with; then those whose interval is wide. Claims and rows only
    where no more than `most` rounds are likely to be enough.
    """
    judged = judge(rounds, asked)
    samples = Samples(rounds)
    compared = compare_to_fastest_cpu(judged, samples)
    pairs = []
    # What is unproven lacks an interval, or is beside one that does: of the two that one alone is measured again.
    for cell in rows_of(compared[compared["verdict"] == "indistinguishable"]):
        key, needed = key_of(cell), _rounds_needed(cell)
        if needed <= most:
            pairs.append((needed, {key, key._replace(workload=cell.base_algorithm, profile=cell.base_profile)}))
    cells = add_totals(make_cells(rounds, papers, {}, {}), samples, papers)
    claims = sorted(
        (needed, sorted(keys & {*asked})) for needed, keys in open_claims(cells, samples, papers) if needed <= most
    )
    return [
        *((NO_INTERVAL, {key_of(cell)}) for cell in rows_of(compared[compared["without"]])),
        *((CLAIM_OPEN, set(keys)) for _, keys in claims),
        *((UNDECIDED, pair) for _, pair in sorted(pairs, key=lambda one: one[0])),
        *((WIDE, {key_of(cell)}) for cell in rows_of(compared[compared["status"] == "wide"])),
    ]


def _rounds_needed(cell: Any) -> float:
    """Return about how many rounds would tell the two apart, if their ratio is what it seems."""
    apart = abs(math.log(cell.speedup))
    width = math.log(cell.speedup_high / cell.speedup_low)
    return float(cell.rounds * (width / 2 / apart) ** 2) if apart else math.inf
