# One job a round: a fresh process on otherwise idle cores.


rule describe_machine:
    output:
        f"{RESPEED.records}/{{machine}}/machine.json",
    log:
        f"{RESPEED.results}/logs/{{machine}}/describe_machine.log",
    params:
        facts=RESPEED.sheet_facts(),
    shell:
        "respeed sheet {output} 2>&1 | tee {log}"


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


# input: asked once for each round of a run that measures, and never for the target `pdf`: the place to clear the way
#   of records that this run cannot use.
# params: nothing but what defines the measurement; when it changes, the round is measured again. A function of the
#   wildcards alone: Snakemake does not remember params that it derives from input or output.
# threads: all cores, so that no other job runs beside a measurement.
# priority: round 1 of everything before round 2 of anything.
rule measure:
    input:
        lambda wildcards: RESPEED.clear_way(wildcards, workflow=workflow),
    output:
        f"{RESPEED.records}/{{machine}}/{{paper}}/{{experiment}}/{{profile}}/{{kind}}-{{round}}.json",
    log:
        f"{RESPEED.results}/logs/{{machine}}/{{paper}}/{{experiment}}/{{profile}}/{{kind}}-{{round}}.log",
    priority: RESPEED.priority
    threads: workflow.cores
    params:
        digest=RESPEED.digest,
        seed=RESPEED.config.seed,
    shell:
        "respeed measure {output} --seed {params.seed} 2>&1 | tee {log}"
