"""The one door of the Snakefile to the package: how a run begins and ends. What its rules are made of is the `Workflow`
that `begin` gives; `snakemake` is Snakemake's own object of that name, `workflow` in the Snakefile.
"""

import atexit
import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from respeed.errors import UserError
from respeed.machine.own_packages import own_packages_first
from respeed.records.store import REPORT, check_own, check_room, check_snakemake, hold_folder
from respeed.schedule.signals import cancel_jobs_when_stopped, end_kindly_when_stopped

if TYPE_CHECKING:
    from respeed.schedule.workflow import Workflow


def begin(snakemake: Any, config: dict[str, Any]) -> "Workflow":
    """Read and check every file that the run depends on, and say what it will measure. `config` is what --config said;
    it gets what the front page of the HTML report needs. A mistake, or the name of another machine, ends the program
    with one line, exit code 2."""
    own_packages_first()
    if snakemake.is_main_process:
        end_kindly_when_stopped()
    # Only now: to load these takes a while.
    from respeed.inputs.config import check_command_line
    from respeed.schedule.messages import announcement, say_farewell
    from respeed.schedule.outputs import front_page
    from respeed.schedule.workflow import resolve_workflow

    measures = may_measure(sys.argv)
    with giving_up():
        check_command_line(sys.argv)
        check_snakemake()
        run = resolve_workflow(config, measures=measures)
        for target in run.targets:
            target.check()
    config.update(front_page(run))
    # The rules call `respeed`, which lies beside this Python, whether or not its environment was activated.
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
    if snakemake.is_main_process and measures:
        print(announcement(run), file=sys.stderr)
    logger().addFilter(lambda record: _is_not_protected(record, run))
    # Where the report is, also where nothing was to be done.
    atexit.register(lambda: say_farewell(run, snakemake))
    return run


def start(run: "Workflow", snakemake: Any) -> None:
    """Before the first job: take the folder until the program ends, unless something speaks against the run."""
    from respeed.schedule.messages import FailedJobs

    with giving_up():
        run.check_executor(snakemake)
        check_room(run.smoke, [REPORT], measures=may_measure(sys.argv))
        hold_folder(run.smoke)
    # Once more: Snakemake has a handler of its own by now.
    if run.nodes:
        cancel_jobs_when_stopped()
        logger().addHandler(FailedJobs())
    else:
        end_kindly_when_stopped()


def table_files(run: "Workflow", report: Any) -> list[Any]:
    """What the rule `tables` makes; `report` is Snakemake's flag of a file that its HTML report shows."""
    from respeed.schedule import outputs

    return outputs.table_files(run, report)


def figure_files(run: "Workflow", report: Any) -> list[Any]:
    """What the rule `figures` makes."""
    from respeed.schedule import outputs

    return outputs.figure_files(run, report)


def succeed(run: "Workflow", snakemake: Any) -> None:
    """When all is done: where everything is, and what is missing."""
    from respeed.schedule.messages import say_farewell

    say_farewell(run, snakemake, done=True)


def fail(run: "Workflow") -> None:
    """After a run that failed: what is left."""
    from respeed.schedule.messages import FailedJobs, say_unfinished

    say_unfinished(run, any(isinstance(one, FailedJobs) and one.refused for one in logger().handlers))


def may_measure(command: list[str]) -> bool:
    """Whether Snakemake's command line is one that would measure what is missing: not the targets `pdf` and `report`,
    nor --report.

    Read from the words themselves: Snakemake knows its targets only after it has read the Snakefile.
    """
    return not any(word in {"pdf", "report"} or word.startswith("--report") for word in command)


def logger() -> logging.Logger:
    """Snakemake's."""
    return logging.getLogger("snakemake.logging")


@contextlib.contextmanager
def giving_up() -> Iterator[None]:
    """A user's mistake ends the program with one line. Snakemake would wrap an exception in lines of its own; this is
    about the user's file, not about the workflow."""
    try:
        yield
    except UserError as error:
        print(f"respeed: {error}", file=sys.stderr)
        sys.exit(2)


def _is_not_protected(record: logging.LogRecord, run: "Workflow") -> bool:
    """Outputs that are somebody else's, which Snakemake finds before a run begins, are a line of ours."""
    if getattr(record, "exception", None) == "ProtectedOutputException":
        with giving_up():
            check_room(run.smoke, [REPORT], measures=False)
            for path in map(Path, record.getMessage().replace(",", " ").split()):
                if os.path.lexists(path):
                    check_own(path)
    return True
