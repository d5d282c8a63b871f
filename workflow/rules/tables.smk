# The records of the machines that are shown become tables and figures.


rule tables:
    input:
        RESPEED.sources,
    output:
        report(
            directory(f"{RESPEED.results}/tables"),
            patterns=["{name}.csv"],
            caption="../../report/captions/tables.rst",
            category="3 Data",
            labels={"Table": "{name}"},
        ),
        # Shown by itself first of all (captions/workflow.rst).
        report(
            f"{RESPEED.results}/tables.html",
            caption="../../report/captions/tables.rst",
            category="1 Tables",
            labels={"Table": "tables"},
        ),
        f"{RESPEED.results}/README.md",
    log:
        f"{RESPEED.results}/logs/tables.log",
    localrule: True
    conda:
        respeed.same_environment
    params:
        shown=RESPEED.shown,
    shell:
        "respeed report --only tables {params.shown} 2>&1 | tee {log}"


rule figures:
    input:
        rules.tables.output,
    output:
        report(
            directory(f"{RESPEED.results}/figures"),
            patterns=["{name}.svg"],
            caption="../../report/captions/figures.rst",
            category="2 Figures",
            labels={"Figure": "{name}"},
        ),
    log:
        f"{RESPEED.results}/logs/figures.log",
    localrule: True
    conda:
        respeed.same_environment
    params:
        shown=RESPEED.shown,
    shell:
        "respeed report --only figures {params.shown} 2>&1 | tee {log}"
