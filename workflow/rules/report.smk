# The report, from data files alone: as a PDF, and as HTML by Snakemake's own report.

OF_RECORDS = "respeed report {params.shown} 2>&1 | tee {log}"
# A second Snakemake, which runs nothing. Not --report-after-run: that is for every run or for none, and would make a
# dry run, `pdf` and --report by hand end otherwise than they do. What --config said decides which files there are.
PAGE = (
    f"snakemake --report {RESPEED.document}.html --config {{params.settings:q}} -- tables figures >>{{log}} 2>&1"
    f" || {{{{ echo 'respeed: {RESPEED.document}.html was not made; {{log}} says why' >&2; exit 1; }}}}"
)


rule document:
    input:
        rules.tables.output,
        rules.figures.output,
        collect("report/{part}.typ", part=glob_wildcards("report/{part}.typ").part),
    output:
        f"{RESPEED.document}.pdf",
    log:
        f"{RESPEED.results}/logs/report.log",
    params:
        shown=RESPEED.shown,
    shell:
        "respeed report --only pdf {params.shown} 2>&1 | tee {log}"


# These two have no record among their inputs, so that nothing can make them measure: they report what records there are.
rule pdf:
    log:
        f"{RESPEED.results}/logs/pdf.log",
    params:
        shown=RESPEED.shown,
    shell:
        OF_RECORDS


rule report:
    log:
        f"{RESPEED.results}/logs/pdf-and-html.log",
    params:
        shown=RESPEED.shown,
        settings=RESPEED.settings,
    shell:
        f"{OF_RECORDS}; {PAGE}"


rule html:
    input:
        rules.tables.output,
        rules.figures.output,
        "report/landing.yaml",
        "report/report.css",
        collect("report/captions/{name}.rst", name=glob_wildcards("report/captions/{name}.rst").name),
    output:
        f"{RESPEED.document}.html",
    log:
        f"{RESPEED.results}/logs/html.log",
    params:
        settings=RESPEED.settings,
    shell:
        PAGE
