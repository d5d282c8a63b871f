"""The one door of the Snakefile to the package: how a run begins and ends. What its rules are made of is the `Workflow`
that `begin` gives; `snakemake` is Snakemake's own object of that name, `workflow` in the Snakefile.
"""

import atexit
import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from respeed.errors import UserError
from respeed.machine.process import interrupt_when_stopped
from respeed.paths import results_folder
from respeed.records.store import check_room, hold_folder

if TYPE_CHECKING:
    from respeed.schedule.workflow import Workflow


def begin(snakemake: Any, config: dict[str, Any]) -> "Workflow":
    """Read and check every file that the run depends on, and say what it will measure. `config` is what --config said;
    it gets what the front page of the HTML report needs. A mistake, or the name of another machine, ends the program
    with one line, exit code 2."""
    # Only now: to load these takes a while.
    from respeed.schedule.messages import announcement, say_farewell
    from respeed.schedule.workflow import resolve_workflow

    measures = may_measure(sys.argv)
    with giving_up():
        run = resolve_workflow(config, measures=measures)
        for target in run.targets:
            target.check()
    config.update(run.front_page)
    # The rules call `respeed`, which lies beside this Python, whether or not its environment was activated.
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
    if snakemake.is_main_process and measures:
        print(announcement(run), file=sys.stderr)
    # Where the report is, also where nothing was to be done.
    atexit.register(lambda: say_farewell(run, snakemake))
    return run


def start(run: "Workflow", snakemake: Any) -> None:
    """Before the first job: take the folder until the program ends, unless something speaks against the run."""
    from respeed.schedule.messages import FailedJobs

    with giving_up():
        run.check_executor(snakemake)
        if may_measure(sys.argv):
            check_room(results_folder(run.smoke))
        hold_folder(run.smoke)
    # Snakemake has a handler of its own for SIGTERM, which waits until the jobs at hand are done.
    interrupt_when_stopped()
    if run.nodes:
        logger().addHandler(FailedJobs())


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
