# The report PDF, from data files alone.


rule document:
    input:
        rules.tables.output,
        rules.figures.output,
        "report/report.typ",
        "report/first-page.typ",
        "report/section.typ",
        "report/appendix.typ",
        "report/tables.typ",
        "report/method.typ",
        "report/style.typ",
    output:
        f"{RESPEED.document}.pdf",
    log:
        f"{RESPEED.results}/logs/report.log",
    params:
        kind=RESPEED.kind,
        machine=RESPEED.machine,
    shell:
        "respeed report {params.kind} --machine {params.machine} 2>&1 | tee {log}"


# Has no record among its inputs, so that nothing can make it measure: the records that exist are what it reports.
rule pdf:
    log:
        f"{RESPEED.results}/logs/pdf.log",
    params:
        kind=RESPEED.kind,
        machine=RESPEED.machine,
    shell:
        "(for stage in tables figures report; do"
        " respeed $stage {params.kind} --machine {params.machine} || exit; done) 2>&1 | tee {log}"
