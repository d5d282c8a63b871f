# Published speedup tables, re-run on this machine.
#   snakemake --cores all         measure what is missing, then build tables, figures and the report
#   snakemake --cores all pdf     build them from the records that exist, measure nothing
import os
import sys

from respeed.plan.workflow import load_workflow
from snakemake.utils import min_version

min_version("9.11")

# config.yaml is read and checked by respeed itself: `config` holds only what --config says.
RESPEED = load_workflow(config)

# For the front page of --report.
config["stamp"] = RESPEED.stamp

# The rules call `respeed`, which lies beside this Python, whether or not its environment was activated.
os.environ.update(PATH=os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]))

if workflow.is_main_process:
    print(RESPEED.announcement(), file=sys.stderr)


onstart:
    RESPEED.hold_folder()
    # The limit on jobs a second wakes the scheduler once more every second for each job that has run: by the fiftieth
    # round it took 3 % of both cores from what was being measured.
    workflow.scheduler.job_rate_limiter = None


wildcard_constraints:
    # Only this machine's records can be made here; those of others are inputs and nothing more.
    machine=RESPEED.machine,


report: "report/captions/workflow.rst"


localrules:
    all,
    pdf,
    tables,
    figures,
    document,


include: "workflow/rules/measure.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        RESPEED.planned_records,
        RESPEED.sheet,
        rules.tables.output,
        rules.figures.output,
        rules.document.output,
