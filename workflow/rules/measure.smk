# One job a turn: a fresh process on otherwise idle cores.


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


# A rule for each turn that has something left to measure: what is measured already is no rule's output, so that nothing
# here can delete it or measure it again.
# input: asked once for each turn of a run that measures, and never for the target `pdf`: the place to clear the way of
#   records that this run cannot use.
# params: what defines the measurement; for a dry run, in which nothing is set aside, to see that it has changed.
# threads: all cores, so that no other job runs beside a measurement.
# priority: round 1 of everything before round 2 of anything.
for position, turn in enumerate(RESPEED.turns):

    rule:
        name:
            turn.name
        input:
            RESPEED.clear_way(turn, workflow),
        output:
            RESPEED.records_of(turn),
        log:
            f"{RESPEED.results}/logs/{RESPEED.machine}/{turn.name}.log",
        priority: len(RESPEED.turns) - position
        threads: workflow.cores
        params:
            digests=RESPEED.digests(turn),
            seed=RESPEED.config.seed,
        shell:
            "respeed measure {output} --seed {params.seed} 2>&1 | tee {log}"
