# Measuring is one job a machine: turn after turn, each a fresh process, on otherwise idle cores.


rule describe_machine:
    output:
        f"{RESPEED.records}/{{machine}}/machine.json",
    log:
        f"{RESPEED.results}/logs/{{machine}}/describe_machine.log",
    params:
        facts=RESPEED.sheet_facts(),
    shell:
        "respeed sheet {output} 2>&1 | tee {log}"


# Asked for only while something is left to measure. What it leaves says that it came to its end; records are written
# one by one meanwhile, and are no rule's output.
rule measure:
    output:
        RESPEED.session,
    log:
        f"{RESPEED.results}/logs/{RESPEED.machine}/measure.log",
    # Before what only makes pictures: a run that is stopped early has measured most.
    priority: 1
    # All cores, so that no other job runs beside a measurement.
    threads: workflow.cores
    params:
        settings=RESPEED.settings,
    shell:
        "respeed measure --session {output} --log {log} --config {params.settings:q}"


# What the machine reaches, once: a sheet that can be used is no rule's output.
if RESPEED.gauge_due:

    rule gauge:
        input:
            lambda wildcards: RESPEED.clear_hardware(wildcards, workflow=workflow),
        output:
            f"{RESPEED.records}/{{machine}}/hardware.json",
        log:
            f"{RESPEED.results}/logs/{{machine}}/gauge.log",
        threads: workflow.cores
        shell:
            "respeed gauge {output} 2>&1 | tee {log}"


# What the programs learn, once a machine: pictures for the report.
rule learn:
    input:
        lambda wildcards: RESPEED.clear_learning(wildcards, workflow=workflow),
    output:
        f"{RESPEED.records}/{{machine}}/{{paper}}/{{experiment}}/learning.json",
    log:
        f"{RESPEED.results}/logs/{{machine}}/{{paper}}/{{experiment}}/learning.log",
    threads: workflow.cores
    params:
        cases=RESPEED.learning_cases,
    shell:
        "respeed learn {output} 2>&1 | tee {log}"
