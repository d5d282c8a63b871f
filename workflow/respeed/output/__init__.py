"""What people read of the tables: in the paper's shape as Markdown and LaTeX, and all as a page for a browser."""

from collections.abc import Collection, Mapping, Sequence
from urllib.parse import quote

import pandas as pd

from respeed.analysis.build import Tables, make_tables
from respeed.analysis.cells import reference
from respeed.analysis.claims import count_results, fold_claims
from respeed.analysis.columns import rows_of
from respeed.model.paper import Paper
from respeed.output.html import (
    cells_section,
    claims_section,
    published_section,
    render_front,
    render_page,
    templates,
)
from respeed.output.markdown_latex import escape_markdown, write_latex, write_markdown
from respeed.output.published import describe_machine, fold, make_published, summaries_of, write_published_csv
from respeed.paths import results_folder
from respeed.protocol import SMOKE_STAMP
from respeed.records.store import write_text
from respeed.schedule.selection import machines_in_full, papers_shown, profiles_shown, told_shown
from respeed.schedule.spec import choose_current


def read_tables(smoke: bool, only: Collection[str] | None = None, papers: Collection[str] | None = None) -> Tables:
    """Every tidy table of the records of all machines, or of `only` those, and of the chosen `papers` (see
    schedule.selection)."""
    return make_tables(smoke, papers_shown(smoke, papers), profiles_shown(), told_shown(), choose_current, only)


def build_tables(smoke: bool, machine: str | None = None, papers: Collection[str] | None = None) -> None:
    """Write results/tables: the tidy tables, each published table as .csv, .md and .tex, and all of them as a page
    for a browser; results/README.md, and results/front.html, with which Snakemake's report begins.

    All machines are in each .csv; in what people read, those that are shown (see schedule.selection).
    """
    tables, stamp = read_tables(smoke, papers=papers), SMOKE_STAMP if smoke else ""
    results = results_folder(smoke)
    folder = results / "tables"
    tables.write(folder)
    summaries = summaries_of(tables["facts"])
    shown = machines_in_full(smoke, machine)
    sections = []
    cells, speedups, claims = (
        tables[name][tables[name]["machine"].isin(shown)] for name in ("cells", "speedups", "claims")
    )
    for paper in tables.papers.values():
        for experiment in paper.experiments.values():
            table = make_published(paper, experiment, tables["cells"], tables["speedups"], smoke)
            folded = fold(table, paper, experiment, smoke, summaries, shown, stamp)
            path = folder / paper.name / experiment.name
            write_published_csv(table, path.with_name(f"{path.name}.csv"), experiment.case_names(smoke))
            write_text(path.with_name(f"{path.name}.md"), write_markdown(folded))
            write_text(path.with_name(f"{path.name}.tex"), write_latex(folded, f"tab:{paper.name}-{experiment.name}"))
            sections.append(published_section(folded))
    every = [claims_section(tables.papers, claims), *sections, cells_section(tables.papers, cells, speedups)]
    write_text(folder / "tables.html", render_page("Published speedup tables, re-run", stamp, every))
    write_text(results / "README.md", make_readme(tables.papers, claims, summaries, shown, stamp))
    first = machine if machine in shown else next(iter(shown), "")
    write_text(results / "front.html", make_front(tables.papers, cells, claims, summaries, first, stamp))


def make_front(
    papers: Mapping[str, Paper],
    cells: pd.DataFrame,
    claims: pd.DataFrame,
    summaries: Mapping[str, str],
    machine: str,
    stamp: str,
) -> str:
    """Return the part of a page with what each paper claims and what came out on one machine; claims with a number of
    ours lead."""
    mine = fold_claims(claims[claims["machine"] == machine], papers).sort_values("here", key=lambda here: here == "")
    found = []
    for paper in papers.values():
        section = claims_section(papers, mine[mine["paper"] == paper.name])
        counts = " ".join(count_results(machine, paper, cells, claims))
        found.append((reference(paper), paper.title, paper.claim, counts, section))
    return render_front(stamp, describe_machine(machine, summaries).replace(":", ",", 1), found)


def make_readme(
    papers: Mapping[str, Paper],
    claims: pd.DataFrame,
    summaries: Mapping[str, str],
    shown: Sequence[str],
    stamp: str,
) -> str:
    """For each paper its claims, what came out on the machines `shown`, a picture, and where the tables are. Claims
    that a machine has an answer to lead."""
    whole = sorted(rows_of(fold_claims(claims, papers)), key=lambda row: not row.here)
    facts = [
        {
            "name": paper.name,
            "title": paper.title,
            "reference": reference(paper),
            "links": [(text, quote(address, safe=":/")) for text, address in paper.links.items()],
            "claim": paper.claim,
            "machines": [
                {
                    "name": machine,
                    "described": describe_machine(machine, summaries),
                    "claims": [row for row in whole if (row.paper, row.machine) == (paper.name, machine)],
                }
                for machine in shown
            ],
            "shown": next((one for one in paper.experiments.values() if paper.prints(one.name)), None),
            "tables": list(paper.experiments.values()),
        }
        for paper in papers.values()
    ]
    return templates(escape_markdown).get_template("readme.jinja").render(papers=facts, stamp=stamp)
