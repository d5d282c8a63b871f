"""Figures, drawn from the tidy tables. Times and intervals are estimated in `respeed.analysis`."""

import shutil

from respeed.analysis.tables import Cell
from respeed.figures.charts import draw_table
from respeed.figures.forest import draw_forest
from respeed.figures.style import color_packages, save_figure
from respeed.output import load_results
from respeed.output.claims import answered_claims
from respeed.paths import results_folder
from respeed.shown import Asked


def build_figures(choice: Asked) -> None:
    """Draw every figure into results/figures, each as .svg, .pdf and .png; remove those of other machines and papers.

    The files are <paper>/claims, and <paper>/<experiment>/<machine>-speedup for the machines that are shown.
    """
    results = load_results(choice)
    folder = results_folder(choice.smoke) / "figures"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    colors = color_packages(results.rows(Cell))
    for paper in results.papers.values():
        claims = answered_claims(results, paper)
        if claims:
            save_figure(draw_forest(results, paper, claims), folder / paper.name / "claims")
        for name in results.machines:
            for experiment in paper.experiments.values():
                if results.has_figure(paper, experiment, name):
                    figure = draw_table(results, paper, experiment, name, colors)
                    save_figure(figure, folder / paper.name / experiment.name / f"{name}-speedup")
