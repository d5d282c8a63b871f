"""Gathers all that the report shows into one plain structure: texts, each already formatted."""

from importlib.metadata import version
from typing import Any

from respeed.model.paper import Paper
from respeed.protocol import SMOKE_STAMP
from respeed.report.across_facts import across_facts
from respeed.report.claim_facts import claim_facts, summary_facts
from respeed.report.cost_facts import cost_facts
from respeed.report.experiment_facts import experiment_facts, known_facts
from respeed.report.machine_facts import machine_facts
from respeed.report.other_facts import beside_others
from respeed.report.sheet_facts import sheet_facts, sheets_across
from respeed.report.why_facts import roofline_facts
from respeed.tables.build import Tables
from respeed.tables.others import Others


def gather_facts(tables: Tables, others: Others) -> dict[str, Any]:
    """The facts file of the report, ready for JSON: of the machines in `tables` all, of all `others` a row each."""
    machines = list(dict.fromkeys(cell.machine for cell in tables.cells))
    days = {origin.last_day for origin in tables.origins.values()}
    days |= {row["last_day"] for row in others.hardware.values()}
    dates = sorted(day for day in days if day)
    return {
        "stamp": SMOKE_STAMP if tables.smoke else "",
        "version": version("respeed"),
        "date": [int(part) for part in dates[-1].split("-")] if dates else None,
        "machines": [machine_facts(machine, tables) for machine in machines],
        "many": beside_others(tables, others, machines),
        "across": across_facts(tables, machines),
        "cost": cost_facts(tables, others, machines),
        "sheets": sheet_facts(tables, machines),
        "sheets_across": sheets_across(tables, machines),
        "papers": [_paper(paper, machines, tables, others) for paper in tables.papers.values()],
    }


def _paper(paper: Paper, machines: list[str], tables: Tables, others: Others) -> dict[str, Any]:
    return {
        "title": paper.title,
        "authors": ", ".join(paper.authors),
        "venue": f"{paper.venue} {paper.year}",
        "links": [{"address": address, "text": text} for text, address in paper.links.items()],
        "claim": paper.claim,
        "claims": claim_facts(paper, machines, tables),
        "summaries": summary_facts(paper, machines, tables),
        "facts": known_facts(paper.facts),
        "experiments": [
            experiment_facts(paper, experiment, machines, tables, others) for experiment in paper.experiments.values()
        ],
        "rooflines": [roofline_facts(paper, machine, tables) for machine in machines],
    }
