# Published speedup tables, re-run on this machine.
#   snakemake --cores all         measure what is missing, then build tables, figures and the report
#   snakemake --cores all pdf     build them from the records that exist, measure nothing
import atexit
import os
import sys

from respeed.machine.own_packages import own_packages_first

own_packages_first()

from respeed.schedule.stopping import end_kindly_when_stopped

# Before anything else: to load the rest takes a while.
if workflow.is_main_process:
    end_kindly_when_stopped()

from respeed.schedule import contents
from respeed.schedule.announce import announcement, may_measure, say_farewell, say_unfinished
from respeed.schedule.failed_jobs import tell_failed_jobs, tell_what_cannot_be_written
from respeed.schedule.stopping import cancel_jobs_when_stopped
from respeed.schedule.workflow import giving_up, load_workflow
from snakemake.logging import logger
from snakemake.utils import min_version

min_version("9.11")

# config.yaml is read and checked by respeed itself: `config` holds only what --config says.
RESPEED = load_workflow(dict(config), sys.argv, measures=may_measure(sys.argv))

tell_what_cannot_be_written(logger, lambda: RESPEED.check_room(measures=False))

# For the front page of the HTML report.
config.update(contents.front_page(RESPEED))

# The rules call `respeed`, which lies beside this Python, whether or not its environment was activated.
os.environ.update(PATH=os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]))

if workflow.is_main_process and may_measure(sys.argv):
    print(announcement(RESPEED), file=sys.stderr)


onstart:
    with giving_up():
        RESPEED.jobs.check_executor(workflow)
        RESPEED.check_room(may_measure(sys.argv))
        RESPEED.hold_folder()
    # Once more: Snakemake has a handler of its own by now.
    if RESPEED.nodes:
        cancel_jobs_when_stopped()
        tell_failed_jobs(logger)
    else:
        end_kindly_when_stopped()


# Where the report is, also where nothing was to be done.
atexit.register(lambda: say_farewell(RESPEED, workflow))


onsuccess:
    say_farewell(RESPEED, workflow, done=True)


onerror:
    say_unfinished(RESPEED)


wildcard_constraints:
    # Only these machines' records can be made here; those of others are inputs and nothing more.
    machine="|".join(RESPEED.measured),


report: "report/captions/workflow.rst"


# How often a job on a cluster is asked for again. In the job itself, Snakemake would only repeat it until its time is up.
RETRIES = RESPEED.jobs.retries if workflow.is_main_process else 0


localrules:
    all,
    pdf,
    tables,
    figures,
    document,
    html,


include: "workflow/rules/measure.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        RESPEED.sessions,
        RESPEED.descriptions,
        RESPEED.hardware_sheets,
        rules.tables.output,
        rules.figures.output,
        rules.document.output,
        rules.html.output,
