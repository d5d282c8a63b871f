"""What a run tells before it begins and when it is done."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from respeed.estimators.cell import judge_cell
from respeed.estimators.rounds import collect_rounds
from respeed.load.overlooked import overlooked
from respeed.plan.availability import why_not
from respeed.plan.duration import in_words
from respeed.plan.history import read_history
from respeed.plan.spec import Digests
from respeed.plan.work import Work, chosen_experiments
from respeed.plan.workflow import Workflow


def announcement(run: Workflow) -> str:
    """What will be measured and about how long it takes, for people who read a dry run."""
    preset, attempts = run.config.preset, run.history.attempts
    rounds = f"{preset.rounds} round{'s' if preset.rounds > 1 else ''} of everything"
    lines = [f"respeed: {run.machine}, preset {preset.name}: {rounds}"]
    for paper in run.config.papers:
        for name in chosen_experiments(run.config, run.papers[paper]):
            cells = [cell for cell in run.work.cells if (cell.paper, cell.experiment) == (paper, name)]
            todo = sum(attempts[cell] < preset.rounds for cell in cells)
            if cells:
                lines.append(f"  {paper} {name}: {todo} of {len(cells)} cells to measure")
    for name in run.config.profiles:
        if reason := why_not(run.profiles[name]):
            lines.append(f"  {name}: not measured: {reason}")
    for why, count in Counter(reason.partition(": ")[2] for reason in run.unusable.values()).items():
        records = f"{count} record{'s' if count > 1 else ''}"
        lines.append(f"  {records} of before cannot be used, and will be made anew: {why}")
    lines += [f"  {line}" for line in overlooked()]
    if left := run.plan.seconds_left():
        lines.append(f"  about {in_words(left)} of measuring in all; leave the machine alone meanwhile")
    return "\n".join(lines)


def may_measure(command: Sequence[str]) -> bool:
    """Whether Snakemake's command line is one that would measure what is missing: not the target `pdf`, nor --report.

    Read from the words themselves: Snakemake knows its targets only after it has read the Snakefile.
    """
    return not any(word == "pdf" or word.startswith("--report") for word in command)


def say_farewell(run: Workflow, snakemake: Any, *, done: bool = False) -> None:
    """The last lines of a run that is `done`, or that had nothing to do: where everything is, and what is missing.

    `snakemake` is its own workflow, which knows what kind of run it is; another kind says nothing.
    """
    dag = getattr(snakemake, "dag", None)
    measures = snakemake.executor_plugin is not None and not snakemake.dryrun
    idle = measures and dag is not None and any(dag.targetjobs) and not len(dag)
    document, page = Path(f"{run.document}.pdf"), Path(f"{run.document}.html")
    if not (done or idle) or not document.exists():
        return
    # After the target `pdf`, a page of before is older than what the tables say.
    is_new = page.exists() and page.stat().st_mtime >= Path(run.results, "tables", "cells.csv").stat().st_mtime
    named = f"{document}{f', for a browser {page}' if is_new else ''}"
    print(f"respeed: the report is {named}; tables are in {run.results}/tables", file=sys.stderr)
    if missing := 0 if run.smoke else cells_without_interval(run.work):
        print(
            f"respeed: {missing} of {len(run.work.cells)} cells have no interval, since too many of their rounds were "
            "disturbed; ./run respeed doctor says by whom. To measure more: --config preset=paper",
            file=sys.stderr,
        )


def cells_without_interval(work: Work) -> int:
    """How many cells rounds were measured of, but not enough clean ones."""
    history, _ = read_history(work, Digests(work.seed, work.papers).of)
    rounds = collect_rounds(history.records.values())
    judged = [judge_cell(rounds[cell]) for cell in work.cells if cell in rounds]
    return sum(found.status == "contaminated" or bool(found.step and not found.step.has_interval) for found in judged)
