"""What the report shows of one experiment: the paper's table and ours in one, verdicts, and each machine's part."""

from typing import Any

from respeed.analysis.labels import words_of_unit
from respeed.model.paper import Experiment, Fact, Paper
from respeed.output.published import fold, make_published
from respeed.report.other_facts import left_out_text, spread_rows
from respeed.report.run_facts import run_facts
from respeed.report.why_facts import why_facts
from respeed.tables.build import Tables
from respeed.tables.others import Others


def experiment_facts(
    paper: Paper, experiment: Experiment, machines: list[str], tables: Tables, others: Others
) -> dict[str, Any]:
    table = make_published(paper, experiment, tables.cell_frame, tables.frames.speedups, tables.smoke)
    runs = [run_facts(paper, experiment, machine, tables, others) for machine in machines]
    return {
        "name": experiment.name,
        "title": experiment.title,
        "total": experiment.total,
        "examples": f"{experiment.examples:,}" if experiment.examples else "",
        "unit": words_of_unit(experiment),
        "extrapolated": experiment.is_extrapolated,
        "share": _timed_share(experiment, tables.smoke),
        "table": fold(table, paper, experiment, tables.smoke, tables.origins).as_json(),
        "facts": known_facts(experiment.facts),
        "caveats": list(experiment.caveats),
        "machines": [
            run | {"why": why_facts(paper, experiment, machine, tables)}
            for run, machine in zip(runs, machines, strict=True)
        ],
        "others": left_out_text(paper, experiment, tables, others),
        "spread": spread_rows(paper, experiment, others),
    }


def _timed_share(experiment: Experiment, smoke: bool) -> str:
    """What a reader must know where only a part of the work is timed."""
    cases = experiment.smoke_cases if smoke else experiment.cases
    part = [case for case in cases if case.parameters.get("timed", 0) < case.parameters.get("batch", 0)]
    if not part or "timed" not in part[0].parameters:
        return ""
    labels = dict.fromkeys(experiment.algorithms[case.workload].label for case in part)
    return (
        f"The first batch is timed, and scaled to all. For {' and '.join(labels)} the coefficients of "
        f"{part[0].parameters['timed']} of its {part[0].parameters['batch']} examples are, drawn evenly by how many of "
        "them are nonzero, and scaled to the batch."
        + (" The preset full times every example of every batch." if experiment.whole_parameters else "")
    )


def known_facts(facts: tuple[Fact, ...]) -> list[dict[str, str]]:
    """Of the protocol, each with how surely it is known."""
    return [{"fact": fact.fact, "value": fact.value, "confidence": fact.confidence} for fact in facts]
