"""Writes results/tables and results/README.md."""

from collections.abc import Collection

from respeed.output.html import write_pages
from respeed.output.markdown_latex import write_latex, write_markdown
from respeed.output.published import fold, make_published, write_published_csv
from respeed.output.readme import write_readme
from respeed.paths import results_folder
from respeed.protocol import SMOKE_STAMP
from respeed.records.store import write_text
from respeed.schedule.selection import machines_in_full
from respeed.tables.build import make_tables, write_tidy


def build_tables(smoke: bool, machine: str | None = None, papers: Collection[str] | None = None) -> None:
    """Write results/tables: the tidy tables, each published table as .csv, .md and .tex, and what is read as .html; and
    results/README.md.

    All machines are in each .csv; in what people read, those that are shown in full (see schedule.machines).
    """
    tables = make_tables(smoke, papers=papers)
    folder = results_folder(smoke) / "tables"
    write_tidy(tables, folder)
    in_full, stamp = machines_in_full(smoke, machine), SMOKE_STAMP if smoke else ""
    shown = {}
    for paper in tables.papers.values():
        for experiment in paper.experiments.values():
            table = make_published(paper, experiment, tables.cell_frame, tables.speedup_frame, smoke)
            folded = fold(table, paper, experiment, smoke, tables.origins, in_full, stamp)
            path = folder / paper.name / experiment.name
            write_published_csv(table, path.with_suffix(".csv"), experiment.case_names(smoke))
            write_text(path.with_suffix(".md"), write_markdown(folded))
            write_text(path.with_suffix(".tex"), write_latex(folded))
            shown[paper.name, experiment.name] = folded
    readme = write_readme(tables.papers, tables.claims, tables.origins, in_full, stamp)
    write_text(results_folder(smoke) / "README.md", readme)
    write_pages(folder, tables, shown, in_full, stamp, machine)
