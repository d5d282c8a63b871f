"""The front page of results: results/README.md, for whoever opens the folder on a repository's page."""

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote

import pandas as pd

from respeed.analysis.columns import rows_of
from respeed.analysis.labels import reference
from respeed.model.paper import Paper
from respeed.numbers import NOTHING
from respeed.output.markdown_latex import escape_markdown, pipe_table
from respeed.output.published import describe_machine
from respeed.text import join_words

# Of the tidy tables, those that a reader of this page may look for.
TIDY = {
    "claims": "every claim",
    "speedups": "every speedup",
    "cells": "every cell",
    "cost": "every cost",
    "hardware": "every machine",
}


def write_readme(
    papers: Mapping[str, Paper],
    verdicts: pd.DataFrame,
    origins: Mapping[str, Any],
    in_full: Collection[str],
    stamp: str,
) -> str:
    """For each paper its claims, what came out on the machines `in_full`, a picture, and where the tables are."""
    claims = list(rows_of(verdicts))
    blocks = ["# Published speedups, run again"] + [f"> **{stamp}**"] * bool(stamp)
    for paper in papers.values():
        blocks += _introduce(paper)
        for machine in in_full:
            mine = [row for row in claims if (row.paper, row.machine, row.case) == (paper.name, machine, "")]
            blocks += _on_machine(paper, machine, mine, origins)
        blocks += ["### Tables", _list_tables(paper)]
    blocks.append(f"All as CSV: {join_words([f'[{what}](tables/{name}.csv)' for name, what in TIDY.items()])}.")
    return "\n\n".join(blocks) + "\n"


def _introduce(paper: Paper) -> list[str]:
    links = [f"[{escape_markdown(text)}]({quote(address, safe=':/')})" for text, address in paper.links.items()]
    who = ", ".join([escape_markdown(reference(paper)), *links])
    return [f"## {escape_markdown(paper.title)}", who, f"> {escape_markdown(paper.claim)}"]


def _on_machine(paper: Paper, machine: str, verdicts: list[Any], origins: Mapping[str, Any]) -> list[str]:
    blocks = [f"### On {escape_markdown(describe_machine(machine, origins))}"]
    if verdicts:
        header = ("The paper says", "Published", "Here", "Verdict")
        # What this machine has an answer to leads.
        ordered = sorted(verdicts, key=lambda row: not row.here)
        blocks.append(pipe_table(header, [_write_verdict(row) for row in ordered], "lrrl"))
    shown = next((name for name in paper.experiments if any(key[0] == name for key in paper.published)), None)
    if shown:
        title = escape_markdown(paper.experiments[shown].title)
        picture = f"figures/{paper.name}/{shown}/{machine}-speedup.png"
        blocks.append(
            f"![{title}: the speedups that were published, and those on {escape_markdown(machine)}]({picture})"
        )
    return blocks


def _write_verdict(row: Any) -> tuple[str, str, str, str]:
    """What can be said all the same stands where the verdict says that the claim itself cannot be tested."""
    reason = f": {escape_markdown(row.reason)}" if row.reason else ""
    instead = f"<br>{escape_markdown(row.instead)}" if row.instead else ""
    verdict = f"**{escape_markdown(row.verdict)}**{reason}{instead}"
    says, published, here = (escape_markdown(text) or NOTHING for text in (row.says, row.published, row.here))
    return says, published, here, verdict


def _list_tables(paper: Paper) -> str:
    lines = []
    for experiment in paper.experiments.values():
        path = f"tables/{paper.name}/{experiment.name}"
        others = f"[CSV]({path}.csv), [LaTeX]({path}.tex)"
        lines.append(f"- [{escape_markdown(experiment.title)}]({path}.md) ({others})")
    return "\n".join(lines)
