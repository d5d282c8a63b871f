"""respeed status: the cells, their rounds and what is missing."""

from tabulate import tabulate

from respeed.plan.announce import announcement
from respeed.plan.workflow import Workflow
from respeed.record.files import recorded_machines
from respeed.tables.build import make_tables
from respeed.tables.numbers import format_measured


def show_status(workflow: Workflow) -> None:
    """Print a line for every cell of this machine, then what a run would measure."""
    tables = make_tables(workflow.smoke, [workflow.machine])
    planned = set(workflow.work.cells)
    rows = [
        [
            f"{cell.paper} {cell.experiment}",
            " ".join(filter(None, cell.row)),
            cell.case,
            f"{cell.rounds}/{workflow.config.preset.rounds if cell.key in planned else 0}",
            cell.status,
            format_measured(cell.seconds, cell.seconds_low, cell.seconds_high),
            cell.reason,
        ]
        for cell in tables.cells
    ]
    if rows:
        print(
            tabulate(
                rows,
                ["table", "profile", "case", "rounds", "status", "seconds", "what is missing"],
                disable_numparse=True,
            )
        )
    else:
        print(f"nothing has been measured on {workflow.machine} yet")
    others = sorted(recorded_machines(workflow.smoke).keys() - {workflow.machine})
    if others:
        print(f"\nrecords of other machines: {', '.join(others)}")
    print(f"\n{announcement(workflow)}")
