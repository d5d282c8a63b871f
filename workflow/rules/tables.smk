# All records there are, this machine's and everybody else's, become tables and figures.


rule tables:
    input:
        RESPEED.sessions,
        RESPEED.foreign_records,
        RESPEED.described_by,
        RESPEED.descriptions,
        RESPEED.hardware_sheets,
    output:
        RESPEED.table_files(report),
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
        RESPEED.foreign_learning,
    output:
        RESPEED.figure_files(report),
    log:
        f"{RESPEED.results}/logs/figures.log",
    params:
        shown=RESPEED.shown,
    shell:
        "respeed figures {params.shown} 2>&1 | tee {log}"
