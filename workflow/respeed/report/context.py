"""The contents of the report as one plain structure of formatted texts, for the templates in report/."""

from importlib.metadata import version
from typing import Any

from respeed.model import Paper
from respeed.output.layout import (
    Shown,
    front,
    lay_out_cost,
    lay_out_machine,
    lay_out_machines,
    lay_out_protocol,
    section,
)
from respeed.output.table import to_typst
from respeed.paths import results_folder


def make_context(shown: Shown) -> dict[str, Any]:
    """Return the contents of the report's facts file, ready for JSON."""
    dates = sorted(shown.table("rounds")["started"].str[:10])
    machines = lay_out_machines(shown), lay_out_cost(shown)
    return {
        "stamp": shown.stamp,
        "version": version("respeed"),
        "date": [int(part) for part in dates[-1].split("-")] if dates else None,
        "papers": [_paper(shown, paper) for paper in shown.papers.values()],
        "machines": [to_typst(table) for table in machines if len(table.frame)],
        "facts": [to_typst(lay_out_machine(shown, name)) for name in shown.machines],
    }


def _paper(shown: Shown, paper: Paper) -> dict[str, Any]:
    """Return a paper's first page, a section for each of its tables, its other figures, and its protocol."""
    cells = shown.table("cells", paper=paper.name)
    # If no case's bytes are known, as with outside programs, a roofline has nothing to draw.
    roofs = [name for name in shown.machines if (cells.loc[cells["machine"] == name, "traffic_bytes"] > 0).any()]
    drawn = [f"{name}-roofline" for name in roofs if paper.rows]
    sections = [section(shown, paper, experiment, to_typst) for experiment in paper.experiments.values()]
    protocol = lay_out_protocol(paper)
    return front(shown, paper, to_typst) | {
        "is_published": bool(paper.rows),
        "source": f"{', '.join(author.strip('{}') for author in paper.authors)}. {paper.venue} {paper.year}.",
        "sections": [one for one in sections if one["tables"] or paper.rows],
        "pictures": [
            {
                "path": f"{results_folder(shown.smoke)}/figures/{paper.name}/{name}.svg",
                "alt": f"Chart: {name} of {paper.title}. Its numbers are in results/tables/cells.csv.",
            }
            for name in drawn
        ],
        "protocol": to_typst(protocol) if len(protocol.frame) else "",
    }
