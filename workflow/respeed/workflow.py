"""The beginning and the end of a run of Snakemake: all functions that the Snakefile uses.

The argument `snakemake` is Snakemake's workflow object, `workflow` in the Snakefile.
"""

import atexit
import contextlib
import logging
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from respeed.errors import RESUMES, UserError
from respeed.machine.process import interrupt_when_stopped
from respeed.outcome import announce, say_farewell
from respeed.paths import MACHINES, ROOT, check_room, hold_folder, results_folder
from respeed.schedule.rows import check_same_machine
from respeed.schedule.run import PROFILE, Run, resolve_run

# How often a job of Slurm whose time is up, or whose node died, is submitted again.
RETRIES = 5
LOGGER = "snakemake.logging"
# The event of the line that says how many jobs begin.
STARTED = "job_started"
# What the plugin writes before Slurm's own words.
_REFUSED = "SLURM sbatch failed. The error message was '"


def find_command() -> None:
    """Let rules find `respeed` where pip put it for this Python, whether or not its environment was activated.

    Raises ModuleNotFoundError if the command is not there: the Snakefile can import the package, which lies beside it,
    even if pip has not installed the package.
    """
    user = sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
    places = os.pathsep.join([os.path.dirname(sys.executable), user])
    if not shutil.which("respeed", path=places):
        raise ModuleNotFoundError(name="respeed")
    os.environ["PATH"] = os.pathsep.join([places, os.environ.get("PATH", os.defpath)])


def begin(snakemake: Any, config: dict[str, Any]) -> Run:
    """Read and check every file that the run depends on, and print what it will measure.

    `config` has the settings of --config; `page`, the path of the page that the HTML report shows, is added. A mistake,
    or a name whose records are of another machine, ends the program with one line and exit code 2.
    """
    measures = may_measure(sys.argv)
    with giving_up():
        run = resolve_run(config, measures=measures)
        if not run.nodes:
            check_same_machine(run.machine, run.smoke)
        config["page"] = f"{run.results}/tables.html"
    if snakemake.is_main_process and measures:
        print(announce(run), file=sys.stderr)
        if not run.nodes:
            _say_what_limits_nothing(run, snakemake)
            _hide_chatter()
    # Say where the report is even if nothing was to be done.
    atexit.register(_end_idle, run, snakemake)
    return run


def _say_what_limits_nothing(run: Run, snakemake: Any) -> None:
    """Say which of Snakemake's options do not change what is measured, though one could think so."""
    rows = [row.threads for row in run.rows.values() if row.profile.is_cpu]
    if snakemake.cores < (most := max(rows, default=0)):
        limit = f"threads: {snakemake.cores} in a profile, or taskset on Linux, limits them"
        said = f"--cores {snakemake.cores} limits no measurement: rows of all cores run on {most}; {limit}"
        print(f"respeed: {said}", file=sys.stderr)


def _hide_chatter() -> None:
    """Hide Snakemake's lines about its own work from the screen: all but warnings, errors, and a job's own lines."""

    def is_shown(record: logging.LogRecord) -> bool:
        return record.levelno > logging.INFO or getattr(record, "event", STARTED) != STARTED

    for handler in logging.getLogger(LOGGER).handlers:
        if not isinstance(handler, logging.FileHandler):
            handler.addFilter(is_shown)


def start(run: Run, snakemake: Any) -> None:
    """Before the first job, check the run, and lock the folder of results until the program ends."""
    with giving_up():
        check_executor(run, snakemake)
        if may_measure(sys.argv):
            check_room(results_folder(run.smoke))
        hold_folder(run.smoke)
    if snakemake.dag_settings.forceall and all(map(os.path.exists, run.stamps.values())):
        print("respeed: what is measured stays; ./run respeed measure --again measures it anew", file=sys.stderr)
    # Snakemake has a handler of its own for SIGTERM, which waits until the current jobs are done.
    interrupt_when_stopped()
    if run.nodes:
        logging.getLogger(LOGGER).addHandler(FailedJobs())


def check_executor(run: Run, snakemake: Any) -> None:
    """Raise UserError if this run would measure a cluster's machine here, or this machine on a cluster."""
    elsewhere = snakemake.executor_plugin.common_settings.non_local_exec
    if run.nodes and not elsewhere:
        raise UserError(f"cluster: true measures through Slurm: add --profile {PROFILE}, or say cluster: false")
    if elsewhere and not run.nodes:
        raise UserError(f"jobs on a cluster need to know which machine they measure; use --profile {PROFILE}")


def succeed(run: Run) -> None:
    """When all is done, print where the report is and the results; exit with 1 if a cell failed or is left."""
    if _is_failure(run) and may_measure(sys.argv):
        sys.exit(1)


def _is_failure(run: Run) -> bool:
    """Print the last lines of a run, and return whether a cell failed or, in a run that measures, is left."""
    outcome = say_farewell(run)
    is_left = outcome.is_left and may_measure(sys.argv)
    if is_left:
        rest = "./run snakemake --cores all, without a target, measures the rest"
        print(f"respeed: not all was measured: {rest}", file=sys.stderr)
    return outcome.has_failed or is_left


def _end_idle(run: Run, snakemake: Any) -> None:
    """Do the same as `succeed` after a run that had nothing to do, for which Snakemake calls no handler."""
    dag = getattr(snakemake, "dag", None)
    if _is_executed(snakemake) and dag is not None and any(dag.targetjobs) and not len(dag) and _is_failure(run):
        sys.stdout.flush()
        os._exit(1)  # too late for an exception to set the exit code


def _is_executed(snakemake: Any) -> bool:
    """Return whether Snakemake runs jobs: not in a dry run, nor to draw its graph or to make its own report."""
    return snakemake.executor_plugin is not None and not snakemake.dryrun


def fail(run: Run) -> None:
    """After a run that failed on a cluster, print which machines have work left."""
    if not run.nodes:
        return
    if left := ", ".join(machine for machine, stamp in run.stamps.items() if not os.path.exists(stamp)):
        print(f"respeed: not all was measured on {left}; nothing is lost, and {RESUMES} once jobs run", file=sys.stderr)


def same_environment(wildcards: Any) -> None:
    """Return None, which means Snakemake's own environment: the package that plans must also measure."""


def templates(*patterns: str) -> list[str]:
    """Return the files of the report's layout that match the patterns, relative to the working directory."""
    return sorted(os.path.relpath(path) for pattern in patterns for path in (ROOT / "report").glob(pattern))


def may_measure(command: list[str]) -> bool:
    """Return whether Snakemake's command line would measure what is missing.

    The targets `pdf` and `report`, and the option --report, measure nothing. The words themselves are read, because
    Snakemake knows its targets only after it has read the Snakefile.
    """
    return not any(word in {"pdf", "report"} or word.startswith("--report") for word in command)


@contextlib.contextmanager
def giving_up() -> Iterator[None]:
    """End the program with one line and exit code 2 if the user has made a mistake.

    Snakemake would add lines of its own to an exception, but the mistake is not in the workflow.
    """
    try:
        yield
    except UserError as error:
        print(f"respeed: {error}", file=sys.stderr)
        sys.exit(2)


class FailedJobs(logging.Handler):
    """Prints why a job of Slurm failed: Slurm's reason, and the last line of the job's own log.

    Snakemake's own message, of twenty lines a job, goes to Snakemake's log. A message that several jobs share, such as
    that Slurm refuses them, is printed once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Print the lines about a job that failed."""
        event = getattr(getattr(record, "event", None), "value", "")
        # Only the process that submits jobs has a reason; a job here has printed its own on the screen.
        if event == "job_error" and (reason := getattr(record, "rule_msg", None)):
            text = failure(reason, getattr(record, "output", []), getattr(record, "log", []))
            if text not in self.said:
                print(text, file=sys.stderr, flush=True)
            self.said.add(text)


def failure(reason: str, made: list[str], logs: list[str]) -> str:
    """Return the lines about a job that failed.

    Parameters
    ----------
    reason : str
        Snakemake's words about the failure.
    made : list of str
        The files that the job would have made, in the folder of its machine.
    logs : list of str
        The paths of the job's own log, and then of Slurm's.
    """
    _, refused, why = reason.partition(_REFUSED)
    if refused:
        machine = Path(made[0]).parent.name
        file, why = (MACHINES / machine).relative_to(ROOT), why.splitlines()[0].removeprefix("sbatch: error: ")
        return f"respeed: {machine}: Slurm refuses its jobs: {why}; look at slurm: in {file}.yaml"
    lines = [f"respeed: no {', '.join(made)}: {reason.splitlines()[0].partition(' Detailed failure reason')[0]}"]
    with contextlib.suppress(OSError, IndexError):  # there may be no log, and nothing in it
        said = Path(logs[0]).read_text(encoding="utf-8", errors="replace").splitlines()[-1]
        lines.append(f"  the job said last: {said.removeprefix('respeed: ')} ({', '.join(logs)})")
    return "\n".join(lines)
