"""Pages that begin with a finding: the results' README, one for a browser, and the front of Snakemake's report.

A page for a browser stands alone: nothing in it comes from elsewhere, and all text is escaped.
"""

from base64 import b64encode
from html import escape
from pathlib import Path

from respeed.output.layout import Shown, front, lay_out_cost, lay_out_machine, lay_out_machines, section
from respeed.output.table import escape_markdown, templates, to_html, to_markdown


def make_readme(shown: Shown) -> str:
    """Return for each paper what came out on the machines, its claims, a picture of each, and where the tables are."""
    papers = [(front(shown, paper, to_markdown), paper) for paper in shown.papers.values()]
    page = templates(escape_markdown).get_template("readme.jinja")
    return page.render(papers=papers, machines=shown.machines, stamp=shown.stamp)


def make_front(shown: Shown) -> str:
    """Return the part of a page that Snakemake's report begins with: of each paper the findings and the claims."""
    papers = [front(shown, paper, to_html) for paper in shown.papers.values()]
    return templates(escape).get_template("front.jinja").render(papers=papers, stamp=shown.stamp)


def make_page(shown: Shown) -> str:
    """Return findings, claims and tables as a page, with the figures that have been drawn."""
    papers, sections = [front(shown, paper, to_html) for paper in shown.papers.values()], []
    for paper in shown.papers.values():
        for experiment in paper.experiments.values():
            one = section(shown, paper, experiment, to_html)
            # Not as SVG: a browser without a face as narrow as theirs would cut off the figures' words.
            paths = [(figure["alt"], Path(figure["path"]).with_suffix(".png")) for figure in one["figures"]]
            pictures = [(alt, b64encode(path.read_bytes()).decode()) for alt, path in paths if path.exists()]
            sections.append(one | {"pictures": pictures})
    machines = [lay_out_machines(shown), lay_out_cost(shown), *(lay_out_machine(shown, one) for one in shown.machines)]
    others = [to_html(table) for table in machines if len(table.frame)]
    page = templates(escape).get_template("page.jinja")
    return page.render(papers=papers, sections=sections, others=others, stamp=shown.stamp)
