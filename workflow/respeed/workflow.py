"""The beginning and the end of a run of Snakemake: all functions that the Snakefile uses.

The argument `snakemake` is Snakemake's workflow object, `workflow` in the Snakefile.
"""

import argparse
import atexit
import contextlib
import functools
import logging
import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from respeed.errors import RESUMES, UserError, tell
from respeed.inputs.config import parse_settings
from respeed.inputs.machines import MACHINE_FILES
from respeed.inputs.reader import from_here
from respeed.machine.process import interrupt_when_stopped
from respeed.outcome import announce, say_farewell
from respeed.paths import ROOT, RUN, STUDY, check_room, hold_folder, is_study, results_folder
from respeed.schedule.rows import check_same_machine
from respeed.schedule.run import PROFILE, Run, resolve_run
from respeed.text import shorten

if TYPE_CHECKING:
    from snakemake.workflow import Workflow

# The workflow, for the Snakefile of a study.
SNAKEFILE = str(ROOT / "workflow" / "Snakefile")
# How often a job of Slurm whose time is up, or whose node died, is submitted again.
RETRIES = 5
# The plugin's words where Slurm refused a job, unless it was only out of reach.
REFUSED = re.compile(r"(?is)sbatch failed(?!.*(timed out|unable to contact))")
LOGGER = "snakemake.logging"
# The resources that Snakemake adds to those of --resources.
SNAKEMAKES_OWN = {"_cores", "_nodes"}
# The event of the line that says how many jobs begin.
STARTED = "job_started"


def find_command() -> None:
    """Let rules find `respeed` where pip put it for this Python, whether or not its environment was activated.

    Raises ModuleNotFoundError if the command is not there: the Snakefile can import the package, which lies beside it,
    even if pip has not installed the package.
    """
    user = sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
    places = f"{os.path.dirname(sys.executable)}{os.pathsep}{user}"
    if not shutil.which("respeed", path=places):
        raise ModuleNotFoundError(name="respeed")
    os.environ["PATH"] = f"{places}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


def begin(snakemake: "Workflow", config: dict[str, Any]) -> Run:
    """Read and check every file that the run depends on, and print what it will measure.

    `config` has the settings of --config; `page`, the path of the page that the HTML report shows, is added. A mistake,
    or a name whose records are of another machine, ends the program with one line and exit code 2.
    """
    measures = may_measure()
    is_heard = snakemake.is_main_process and measures
    if snakemake.is_main_process and (profile := os.environ.get("SNAKEMAKE_PROFILE")):
        tell(f"SNAKEMAKE_PROFILE is set, so that the options of {profile} hold here")
    with giving_up():
        _check_place(Path(snakemake.main_snakefile).parent)
        run = resolve_run(given_settings() | config, measures=measures)
        if not run.nodes:
            check_same_machine(run.machine, run.smoke)
        config["page"] = f"{run.results}/tables.html"
        if is_heard:
            tell(announce(run))
    if is_heard and not run.nodes:
        _say_what_limits_nothing(run, snakemake)
        _hide_chatter()
    # Say where the report is even if nothing was to be done.
    atexit.register(_end_idle, run, snakemake)
    return run


def _check_place(folder: Path) -> None:
    """Raise UserError if the Snakefile is a study's and the working directory is not that study."""
    if is_study(folder) and folder.resolve() != STUDY.resolve():
        raise UserError(f"the study is {folder}, and its files are read only there: add --directory {folder}")


def _say_what_limits_nothing(run: Run, snakemake: "Workflow") -> None:
    """Say which of Snakemake's options do not change what is measured, though one could think so."""
    most = max((row.threads for row in run.rows.values() if row.profile.is_cpu), default=0)
    settings = snakemake.resource_settings
    limits = {
        f"--cores {snakemake.cores}": snakemake.cores < most,
        "--max-threads": settings.max_threads,
        "--set-threads": settings.overwrite_threads,
        "--set-resources": settings.overwrite_resources,
        "--resources": set(settings.resources) - SNAKEMAKES_OWN,
    }
    if named := ", ".join(option for option, value in limits.items() if value):
        advice = "threads: in a profile, or taskset on Linux, limits them"
        tell(f"{named}: limits no measurement, whose rows run on up to {most}; {advice}")


def _hide_chatter() -> None:
    """Hide Snakemake's lines about its own work from the screen: all but warnings, errors, and a job's own lines."""

    def is_shown(record: logging.LogRecord) -> bool:
        return record.levelno > logging.INFO or getattr(record, "event", STARTED) != STARTED

    for handler in logging.getLogger(LOGGER).handlers:
        if not isinstance(handler, logging.FileHandler):
            handler.addFilter(is_shown)


def start(run: Run, snakemake: "Workflow") -> None:
    """Before the first job, check the run, and lock the folder of results until the program ends."""
    with giving_up():
        hold_folder(run.smoke)
        if may_measure():
            check_executor(run, snakemake)
            check_room(results_folder(run.smoke))
    if snakemake.dag_settings.forceall and all(map(os.path.exists, run.stamps.values())):
        tell(f"what is measured stays; {RUN}respeed measure --again measures it anew")
    # Snakemake has a handler of its own for SIGTERM, which waits until the current jobs are done.
    interrupt_when_stopped()
    if run.nodes:
        if all("--exclusive" in resources["slurm_extra"] for resources in run.nodes.values()):
            # As sbatch's --mem, which mem_mb of a machine replaces: all memory of the node, whatever the default is.
            os.environ.setdefault("SBATCH_MEM_PER_NODE", "0")
        logging.getLogger(LOGGER).addHandler(FailedJobs(snakemake))


def check_executor(run: Run, snakemake: "Workflow") -> None:
    """Raise UserError if this run would measure a cluster's machine here, or this machine on a cluster."""
    is_remote = snakemake.executor_plugin.common_settings.non_local_exec
    if run.nodes and not is_remote:
        raise UserError(f"cluster: true measures through Slurm: add --profile {PROFILE}, or say cluster: false")
    if is_remote and not run.nodes:
        raise UserError(f"jobs on a cluster need to know which machine they measure; use --profile {PROFILE}")


def succeed(run: Run) -> None:
    """When all is done, print where the report is and the results; exit with 1 if a cell failed or is left."""
    if _is_failure(run) and may_measure():
        sys.exit(1)


def _is_failure(run: Run) -> bool:
    """Print the last lines of a run, and return whether a cell failed or, in a run that measures, is left."""
    outcome = say_farewell(run)
    is_left = outcome.is_left and may_measure()
    if is_left:
        tell(f"not all was measured: {RUN}snakemake --cores all, without a target, measures the rest")
    return outcome.has_failed or is_left


def _end_idle(run: Run, snakemake: "Workflow") -> None:
    """Do the same as `succeed` after a run that had nothing to do, for which Snakemake calls no handler."""
    # In a dry run, or to draw its graph or to make its own report, Snakemake runs no jobs.
    is_executed = snakemake.executor_plugin is not None and not snakemake.dryrun
    dag = getattr(snakemake, "dag", None)
    if is_executed and dag is not None and any(dag.targetjobs) and not len(dag) and _is_failure(run):
        sys.stdout.flush()
        os._exit(1)  # too late for an exception to set the exit code


def fail(run: Run) -> None:
    """After a run that failed on a cluster, print which machines have work left."""
    unfinished = [machine for machine in run.nodes if not os.path.exists(run.stamps[machine])]
    if unfinished:
        tell(f"not all was measured on {', '.join(unfinished)}; nothing is lost, and {RESUMES} once jobs run")


def place_of(snakemake: "Workflow") -> list[str]:
    """Return the options by which another Snakemake runs the same workflow in the same folder."""
    return ["--snakefile", str(snakemake.main_snakefile), "--directory", os.getcwd()]


def same_environment(wildcards: Any) -> None:
    """Return None, which means Snakemake's own environment: the package that plans must also measure."""


def templates(*patterns: str) -> list[str]:
    """Return the files of the report's layout that match the patterns, relative to the working directory."""
    files = chain.from_iterable(map((ROOT / "report").glob, patterns))
    return sorted(map(os.path.relpath, files))


def given_settings() -> dict[str, Any]:
    """Return the settings of every --config of Snakemake's command line, of which Snakemake keeps the last alone."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config", "-C", nargs="*", action="extend", default=[])
    options, _ = parser.parse_known_args()
    return parse_settings(options.config)


def may_measure() -> bool:
    """Return whether Snakemake's command line would measure what is missing.

    The targets `pdf` and `report`, and the option --report, measure nothing. The words themselves are read, because
    Snakemake knows its targets only after it has read the Snakefile.
    """
    return not any(word in {"pdf", "report"} or word.startswith("--report") for word in sys.argv)


@contextlib.contextmanager
def giving_up() -> Iterator[None]:
    """End the program with one line and exit code 2 if the user has made a mistake.

    Snakemake would add lines of its own to an exception, but the mistake is not in the workflow.
    """
    try:
        yield
    except UserError as error:
        tell(error)
        sys.exit(2)


class FailedJobs(logging.Handler):
    """Prints why a job of Slurm failed: Slurm's words, and the last line of the job's own log.

    Snakemake's own message, of twenty lines a job, goes to Snakemake's log. A message is printed once, however often
    the job is tried. What Slurm refuses is not submitted again.
    """

    def __init__(self, snakemake: "Workflow") -> None:
        super().__init__()
        self._snakemake = snakemake
        self._tell_once = functools.cache(tell)

    def emit(self, record: logging.LogRecord) -> None:
        """Print the lines about a job that failed."""
        facts = vars(record)
        # Only the process that submits jobs has a reason; a job here has printed its own on the screen.
        if getattr(facts.get("event"), "value", "") == "job_error" and facts.get("rule_msg"):
            self._tell_once(failure(facts["rule_msg"], facts["output"], facts["log"]))
            if REFUSED.search(facts["rule_msg"]):
                self._snakemake.get_rule(facts["rule_name"]).restart_times = 0


def failure(reason: str, outputs: list[str], logs: list[str]) -> str:
    """Return the lines about a job that failed.

    Parameters
    ----------
    reason : str
        Snakemake's words about the failure, which quote Slurm's.
    outputs : list of str
        The files that the job would have made, in the folder of its machine.
    logs : list of str
        The paths of the job's own log, and then of Slurm's.
    """
    machine = Path(outputs[0]).parent.name
    lines = [f"{machine}: {shorten(reason)} (slurm: in {from_here(MACHINE_FILES.path(machine))})"]
    with contextlib.suppress(OSError, IndexError):  # there may be no log, and nothing in it
        last = Path(logs[0]).read_text(encoding="utf-8", errors="replace").splitlines()[-1]
        lines.append(f"  its log ends with: {last} ({', '.join(logs)})")
    return "\n".join(lines)
