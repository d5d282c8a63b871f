# All records there are, this machine's and everybody else's, become tables and figures.


rule tables:
    input:
        RESPEED.sources,
    output:
        snakemake_api.table_files(RESPEED, report),
    log:
        f"{RESPEED.results}/logs/tables.log",
    params:
        shown=RESPEED.shown,
    shell:
        "respeed tables {params.shown} 2>&1 | tee {log}"


rule figures:
    input:
        rules.tables.output,
        RESPEED.learning_records,
    output:
        snakemake_api.figure_files(RESPEED, report),
    log:
        f"{RESPEED.results}/logs/figures.log",
    params:
        shown=RESPEED.shown,
    shell:
        "respeed figures {params.shown} 2>&1 | tee {log}"
