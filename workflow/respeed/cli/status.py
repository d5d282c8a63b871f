"""respeed status: the cells, their rounds and what is missing."""

from tabulate import tabulate

from respeed.plan.workflow import Workflow
from respeed.record.files import recorded_machines
from respeed.tables.build import make_tables
from respeed.tables.numbers import format_range, format_seconds


def show_status(workflow: Workflow) -> None:
    """Print a line for every cell of this machine, then what a run would measure."""
    tables = make_tables(workflow.smoke, [workflow.machine])
    planned: dict[tuple[str, str, str], int] = {}
    for round_id in workflow.rounds:
        if not round_id.whole:
            key = (round_id.paper, round_id.experiment, round_id.profile)
            planned[key] = planned.get(key, 0) + 1
    rows = [
        [
            f"{cell.paper} {cell.experiment}",
            " ".join(filter(None, cell.row)),
            cell.case,
            f"{cell.rounds}/{planned.get((cell.paper, cell.experiment, cell.profile), 0)}",
            cell.status,
            format_seconds(cell.seconds, cell.status),
            format_range(cell.seconds_low, cell.seconds_high) if cell.seconds else cell.reason,
        ]
        for cell in tables.cells
    ]
    if rows:
        print(
            tabulate(
                rows,
                ["table", "profile", "case", "rounds", "status", "seconds", "interval, or why not"],
                disable_numparse=True,
            )
        )
    else:
        print(f"nothing has been measured on {workflow.machine} yet")
    others = sorted(recorded_machines(workflow.smoke).keys() - {workflow.machine})
    if others:
        print(f"\nrecords of other machines: {', '.join(others)}")
    print(f"\n{workflow.announcement()}")
