# The report, from data files alone: as a PDF, and as HTML by Snakemake's own report.

OF_RECORDS = "respeed report {params.shown} 2>&1 | tee {log}"
# A second Snakemake, which runs nothing. Not --report-after-run: that is for every run or for none, and would change
# the end of a dry run, of `pdf` and of --report by hand. The settings of --config decide which files there are.
PAGE = (
    f"snakemake {{params.place:q}} --cores all --report {RESPEED.document}.html --report-metadata {{params.landing:q}}"
    f" --report-stylesheet {{params.style:q}} --config {{params.settings:q}}"
    f" -- {RESPEED.results}/tables {RESPEED.results}/figures >>{{log}} 2>&1"
    f" || {{{{ echo 'respeed: {RESPEED.document}.html was not made; {{log}} says why' >&2; exit 1; }}}}"
)


rule document:
    input:
        rules.tables.output,
        rules.figures.output,
        respeed.templates("*.typ"),
    output:
        f"{RESPEED.document}.pdf",
    log:
        f"{RESPEED.results}/logs/report.log",
    localrule: True
    conda:
        respeed.same_environment
    params:
        shown=RESPEED.shown,
    shell:
        "respeed report --only pdf {params.shown} 2>&1 | tee {log}"


# These two have no record among their inputs, so that nothing can make them measure: they report existing records.
rule pdf:
    log:
        f"{RESPEED.results}/logs/pdf.log",
    localrule: True
    conda:
        respeed.same_environment
    params:
        shown=RESPEED.shown,
    shell:
        OF_RECORDS


rule report:
    log:
        f"{RESPEED.results}/logs/pdf-and-html.log",
    localrule: True
    conda:
        respeed.same_environment
    params:
        shown=RESPEED.shown,
        # In a function, since a folder may have braces in its name, which would be wildcards.
        place=lambda wildcards: respeed.place_of(workflow),
        settings=RESPEED.settings,
        landing=respeed.templates("landing.yaml"),
        style=respeed.templates("report.css"),
    shell:
        f"{OF_RECORDS}; {PAGE}"


rule html:
    input:
        rules.tables.output,
        rules.figures.output,
        respeed.templates("landing.yaml", "report.css", "captions/*.rst"),
    output:
        f"{RESPEED.document}.html",
    log:
        f"{RESPEED.results}/logs/html.log",
    localrule: True
    conda:
        respeed.same_environment
    params:
        # In a function, since a folder may have braces in its name, which would be wildcards.
        place=lambda wildcards: respeed.place_of(workflow),
        settings=RESPEED.settings,
        landing=respeed.templates("landing.yaml"),
        style=respeed.templates("report.css"),
    shell:
        PAGE
