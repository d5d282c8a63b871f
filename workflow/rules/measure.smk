# Measuring is one job a machine: turn after turn, each a fresh process, on otherwise idle cores. Where Slurm gives the
# machines, each job runs on its own machine, and the rules of other files on the head.

for machine, stamp in RESPEED.stamps.items():

    # The stamp shows that all was measured; records are written case by case meanwhile, and are no rule's output. A job
    # whose time is up leaves no stamp, and is submitted again.
    rule:
        name:
            f"measure_{machine}"
        output:
            stamp,
        log:
            f"{stamp}.log",
        # In the job itself, Snakemake would only repeat it until its time is up.
        retries: respeed.RETRIES if RESPEED.nodes and workflow.is_main_process else 0
        conda:
            respeed.same_environment
        # All cores, so that no other job runs beside a measurement.
        threads: workflow.cores
        resources:
            **RESPEED.nodes.get(machine, {}),
        params:
            how=RESPEED.how_to_measure(machine),
        shell:
            "respeed measure --stamp {output} --log {log} {params.how:q}"
