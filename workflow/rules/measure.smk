# Measuring is one job a machine: turn after turn, each a fresh process, on otherwise idle cores. Where Slurm gives the
# machines, every rule here runs on the machine of its wildcard, and the rules of other files on the head.


rule describe_machine:
    input:
        RESPEED.clear_way(workflow, "description"),
    output:
        f"{RESPEED.records}/{{machine}}/machine.json",
    log:
        f"{RESPEED.results}/logs/{{machine}}/describe_machine.log",
    retries: RESPEED.retries(workflow)
    resources:
        **RESPEED.resources(short=True),
    params:
        facts=RESPEED.described,
    shell:
        "respeed describe {output} 2>&1 | tee {log}"


# Asked for only while something is left to measure. What it leaves says that it came to its end; records are written
# one by one meanwhile, and are no rule's output. A job whose time is up leaves nothing, and is asked for again.
rule measure:
    output:
        f"{RESPEED.results}/logs/{{machine}}/session-{{number}}.done",
    log:
        f"{RESPEED.results}/logs/{{machine}}/session-{{number}}.log",
    wildcard_constraints:
        number=RESPEED.session_number,
    # Before the hardware sheet: a run that is stopped early has measured most.
    priority: 1
    retries: RESPEED.retries(workflow)
    # All cores, so that no other job runs beside a measurement.
    threads: workflow.cores
    resources:
        **RESPEED.resources(),
    params:
        how=RESPEED.how_to_measure,
    shell:
        "respeed measure --session {output} --log {log} {params.how:q}"


# What the machine reaches, once: a sheet that can be used is no rule's output.
if RESPEED.gauge_due:

    rule gauge:
        input:
            RESPEED.clear_way(workflow, "hardware"),
        output:
            f"{RESPEED.records}/{{machine}}/hardware.json",
        log:
            f"{RESPEED.results}/logs/{{machine}}/gauge.log",
        retries: RESPEED.retries(workflow)
        threads: workflow.cores
        resources:
            **RESPEED.resources(short=True),
        shell:
            "respeed gauge {output} 2>&1 | tee {log}"
