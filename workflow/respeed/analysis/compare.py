"""Compare two sets of rounds of the same cells, to find the cells that became faster or slower beyond noise."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from respeed.analysis.cells import make_cells
from respeed.analysis.columns import rows_of
from respeed.analysis.estimates import RATIO_LEVEL, estimate_ratio, verdict_of
from respeed.analysis.rounds import key_of, read_rounds
from respeed.analysis.speedups import Samples
from respeed.errors import UserError, nearest
from respeed.inputs.config import load_config
from respeed.machine import machine_slug
from respeed.model import Paper
from respeed.records import read_records, recorded_machines
from respeed.sessions import number_sessions


def read_side(name: str, smoke: bool, papers: Mapping[str, Paper]) -> pd.DataFrame:
    """Return the rounds that a user names: SOURCE, SOURCE@WHEN, or @WHEN of this machine.

    Parameters
    ----------
    name : str
        SOURCE is a machine that has records here. WHEN, after the last @, is the number of a session, a day such as
        2026-11-20, or a commit, in full or in seven letters.
    smoke : bool
        Whether to read the records of tiny cases.
    papers : mapping
        The papers whose cells are compared.

    Returns
    -------
    DataFrame
        The table of rounds, with sessions numbered over all records of the source, and a column `source`. If the
        chosen records measured a case in several ways, only the latest way counts.

    Raises
    ------
    UserError
        There is no such source, or the source has no rounds of WHEN.
    """
    source, _, when = name.rpartition("@") if "@" in name else (name, "", "")
    source = source or load_config().machine or machine_slug()
    if source not in (there := recorded_machines(smoke)):
        raise UserError(f"compare: no records of {source!r}{nearest(source, there)}")
    records = read_records(smoke, source)
    numbered = number_sessions(records)
    words = {  # git prints seven letters of a commit
        one.path: {f"{session}", one.start.started[:10], one.start.commit, one.start.commit[:7]}
        for session, one in numbered
    }
    rounds = read_rounds([one for one in records if not when or when in words[one.path]], papers)
    if rounds.empty:
        raise UserError(f"compare: {name}: no rounds{nearest(when, set().union(*words.values()))}")
    sessions = {record.start.started: session for session, record in numbered}
    return rounds.assign(session=rounds["started"].map(sessions), source=source)


def compare_rounds(a: pd.DataFrame, b: pd.DataFrame, papers: Mapping[str, Paper]) -> dict[str, Any]:
    """Compare every cell that both sides measured, as a document for JSON.

    A speedup is the seconds of A divided by the seconds of B, with an interval at `RATIO_LEVEL`. If A and B have rounds
    in the same sessions of one source, these rounds are compared; if not, all rounds are, and the interval includes the
    spread between sessions.

    Raises
    ------
    UserError
        A and B have a record in common.
    """
    if set(a["record"]) & set(b["record"]):
        raise UserError("compare: A and B have records in common; name two sessions, days or commits")
    rounds = pd.concat([a.assign(machine="a"), b.assign(machine="b")], ignore_index=True)
    samples, is_one = Samples(rounds), {*a["source"]} == {*b["source"]}
    cells = {key_of(cell): cell for cell in rows_of(make_cells(rounds, papers, {}, {})) if cell.status != "not-run"}
    in_a, in_b = ({key[1:]: cell for key, cell in cells.items() if key.machine == side} for side in "ab")
    found = [_compare_cells(cell, in_b[key], samples, is_one) for key, cell in in_a.items() if key in in_b]
    return {
        "a": _describe(a),
        "b": _describe(b),
        "confidence": RATIO_LEVEL,
        "cells": found,
        "only_a": ["/".join(key) for key in in_a if key not in in_b],
        "only_b": ["/".join(key) for key in in_b if key not in in_a],
    }


def _describe(rounds: pd.DataFrame) -> dict[str, Any]:
    """Return the sources, sessions, commits, libraries, first and last time, and number of one side's rounds."""
    several = {name: sorted({*rounds[name]} - {""}) for name in ("source", "machine", "session", "commit", "library")}
    return several | {"first": rounds["started"].min(), "last": rounds["started"].max(), "rounds": len(rounds)}


def _compare_cells(a: Any, b: Any, samples: Samples, is_one_source: bool) -> dict[str, Any]:
    """Compare two cells; if one of them has no time, the reason says so."""
    ratio, together, verdict = None, False, "not compared"
    whys = [f"{cell.machine.upper()} {cell.status}, {cell.reason}" for cell in (a, b) if not cell.seconds]
    if not whys:
        times = samples.by_session(a), samples.by_session(b)
        ratio, together = estimate_ratio(*times, one_machine=is_one_source)
        verdict, why = verdict_of(ratio)
        facts = ((name, getattr(a, name), getattr(b, name)) for name in ("threads", "precision"))
        whys = [why, *(f"{one} and {other} {name}" for name, one, other in facts if one != other)]
    return {
        **{name: getattr(a, name) for name in ("paper", "experiment", "case", "algorithm", "profile", "label")},
        "seconds_a": a.seconds, "seconds_b": b.seconds,
        **(ratio.columns("speedup") if ratio else dict.fromkeys(("speedup", "speedup_low", "speedup_high"))),
        "verdict": verdict, "reason": "; ".join(filter(None, whys)), "together": together,
    }  # fmt: skip
