# The report, from data files alone: as a PDF, and as HTML by Snakemake's own report.


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
        "respeed report {params.shown} 2>&1 | tee {log}"


# Has no record among its inputs, so that nothing can make it measure: the records that exist are what it reports.
rule pdf:
    log:
        f"{RESPEED.results}/logs/pdf.log",
    params:
        shown=RESPEED.shown,
    shell:
        "(for stage in tables figures report; do respeed $stage {params.shown} || exit; done) 2>&1 | tee {log}"


# A second Snakemake, which runs nothing. Not --report-after-run: that is for every run or for none, and would make a
# dry run, `pdf` and --report by hand end otherwise than they do.
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
        # What --config said decides which files there are.
        settings=RESPEED.settings,
    shell:
        "snakemake --report {output} --config {params.settings:q} -- tables figures >{log} 2>&1"
        " || {{ echo 'respeed: {output} was not made; {log} says why' >&2; exit 1; }}"
