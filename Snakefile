# Published speedup tables, re-run on this machine.
#   snakemake --cores all         measure what is missing, then build tables, figures and the report
#   snakemake --cores all report  build them from the records that exist, measure nothing; pdf: without the HTML
from snakemake.utils import min_version

min_version("9.11")

try:
    from respeed.schedule import workflow as respeed
except ModuleNotFoundError as error:
    raise SystemExit(
        f"respeed: the Python that runs this snakemake has no {error.name}. Give the same command as ./run snakemake ..., "
        "which brings all it needs, or install this folder there, once: pip install -e ."
    )

# config.yaml is read and checked by respeed itself: `config` holds only what --config says.
RESPEED = respeed.begin(workflow, config)


onstart:
    respeed.start(RESPEED, workflow)


onsuccess:
    respeed.succeed(RESPEED)


onerror:
    respeed.fail(RESPEED)


report: "report/captions/workflow.rst"


localrules:
    all,
    pdf,
    report,
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
        rules.tables.output,
        rules.figures.output,
        rules.document.output,
        rules.html.output,
