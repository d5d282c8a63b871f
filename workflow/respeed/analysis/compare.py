"""Compare two sets of rounds of the same cells, to find the cells that became faster or slower beyond noise."""

import math
from typing import Any

import pandas as pd

from respeed.analysis.cells import judge_cells
from respeed.analysis.estimates import RATIO_LEVEL, Estimate, number_of, verdict_of
from respeed.analysis.rounds import read_rounds
from respeed.analysis.speedups import Samples
from respeed.analysis.tables import Cell, group_by
from respeed.errors import UserError, nearest
from respeed.inputs.config import load_config
from respeed.model import Papers
from respeed.records import read_records, recorded_machines
from respeed.sessions import number_sessions


def read_side(name: str, smoke: bool, papers: Papers) -> pd.DataFrame:
    """Return the rounds that a user names: SOURCE, SOURCE@WHEN, or @WHEN of this machine.

    Parameters
    ----------
    name : str
        SOURCE is a machine that has records here. WHEN, after the @, is the number of a session, a day such as
        2026-11-20, or a commit, in full or in seven letters.
    smoke : bool
        Whether to read the records of tiny cases.
    papers : mapping
        The papers whose cells are compared.

    Returns
    -------
    DataFrame
        The table of rounds, with sessions numbered over all records of the source. If the chosen records measured a
        case in several ways, only the latest way counts.

    Raises
    ------
    UserError
        There is no such source, or the source has no rounds of WHEN.
    """
    source, _, when = name.partition("@")
    source = source or load_config().this_machine
    machines = recorded_machines(smoke)
    if source not in machines:
        raise UserError(f"compare: no records of {source!r}{nearest(source, machines)}")
    chosen = []
    sessions = {}
    moments: set[str] = set()
    for session, record in number_sessions(read_records(smoke, source)):
        start = record.start
        words = {str(session), start.started[:10], start.commit, start.commit[:7]}  # git prints seven letters
        moments |= words
        sessions[start.started] = session
        if not when or when in words:
            chosen.append(record)
    rounds = read_rounds(chosen, papers)
    if rounds.empty:
        raise UserError(f"compare: {name}: no rounds{nearest(when, moments)}")
    return rounds.assign(session=rounds["started"].map(sessions))


def compare_rounds(a: pd.DataFrame, b: pd.DataFrame, papers: Papers) -> dict[str, Any]:
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
    is_one_source = set(a["machine"]) == set(b["machine"])
    rounds = pd.concat([a.assign(machine="a"), b.assign(machine="b")], ignore_index=True)
    samples = Samples(rounds)
    cells = judge_cells(rounds, papers)
    ran = [cell for cell in cells.values() if cell.status not in ("due", "cannot-run")]
    compared = []
    alone: dict[str, list[str]] = {"a": [], "b": []}
    for key, sides in group_by(ran, lambda cell: cell.key[1:]).items():
        if len(sides) > 1:
            compared.append(_compare_cells(sides[0], sides[1], samples, is_one_source))
        else:
            alone[sides[0].machine].append("/".join(key))
    return {
        "a": _describe(a),
        "b": _describe(b),
        "confidence": RATIO_LEVEL,
        "cells": compared,
        "only_a": alone["a"],
        "only_b": alone["b"],
    }


def _describe(rounds: pd.DataFrame) -> dict[str, Any]:
    """Return the machine, sessions, commits, libraries, first and last time, and number of one side's rounds."""
    names = ("machine", "session", "commit", "library")
    facts: dict[str, Any] = {name: sorted(set(rounds[name]) - {""}) for name in names}
    started = rounds["started"]
    return facts | {"first": started.min(), "last": started.max(), "rounds": len(rounds)}


def _compare_cells(a: Cell, b: Cell, samples: Samples, is_one_source: bool) -> dict[str, Any]:
    """Compare two cells; if one of them has no time, the reason says so."""
    ratio = Estimate(math.nan)
    verdict = "not compared"
    is_together = False
    reasons = []
    for cell in (a, b):
        if not cell.seconds:
            reasons.append(f"{cell.machine.upper()} {cell.status}, {cell.reason}")
    if not reasons:
        ratio, is_together = samples.ratio(a, b, is_one_machine=is_one_source)
        verdict, reason = verdict_of(ratio)
        reasons.append(reason)
        if a.threads != b.threads:
            reasons.append(f"{a.threads} and {b.threads} threads")
        if a.precision != b.precision:
            reasons.append(f"{a.precision} and {b.precision} precision")
    _, *names = a.key._asdict().items()
    return {
        **dict(names),
        "seconds_a": a.seconds,
        "seconds_b": b.seconds,
        "speedup": number_of(ratio.value),
        "speedup_low": ratio.low,
        "speedup_high": ratio.high,
        "verdict": verdict,
        "reason": "; ".join(filter(None, reasons)),
        "together": is_together,
    }
