# All records there are, this machine's and everybody else's, become tables and figures.


rule tables:
    input:
        sessions=RESPEED.sessions,
        foreign=RESPEED.foreign_records,
        described_by=RESPEED.described_by,
        sheet=RESPEED.sheet,
    output:
        report(
            [f"{RESPEED.results}/tables/{paper}/{name}.csv" for paper, name in RESPEED.experiments],
            caption="../../report/captions/table.rst",
            category="Tables",
        ),
        report(
            f"{RESPEED.results}/tables/speedups.csv",
            caption="../../report/captions/speedups.rst",
            category="Every cell",
        ),
        report(
            f"{RESPEED.results}/tables/cells.csv",
            caption="../../report/captions/cells.rst",
            category="Every cell",
        ),
        [f"{RESPEED.results}/tables/{name}.csv" for name in ("factors", "parts", "totals", "wholes")],
        [f"{RESPEED.results}/tables/{name}.csv" for name in ("machines", "spread", "standings", "hardware")],
        [
            f"{RESPEED.results}/tables/{paper}/{name}.{ending}"
            for paper, name in RESPEED.experiments
            for ending in ("md", "tex")
        ],
    log:
        f"{RESPEED.results}/logs/tables.log",
    params:
        kind=RESPEED.kind,
        machine=RESPEED.machine,
        stamp=RESPEED.stamp,
    shell:
        "respeed tables {params.kind} --machine {params.machine} 2>&1 | tee {log}"


rule figures:
    input:
        rules.tables.output,
        RESPEED.learning_records,
        RESPEED.foreign_learning,
    output:
        report(
            [
                f"{RESPEED.results}/figures/{paper}/{name}/{machine}-{figure}.svg"
                for paper, name in RESPEED.experiments
                for machine in RESPEED.machines
                for figure in ("seconds", "speedup")
            ],
            caption="../../report/captions/figure.rst",
            category="Figures",
        ),
        report(
            [
                f"{RESPEED.results}/figures/{paper}/{name}/{machine}-{figure}.svg"
                for paper, name, machine in RESPEED.learned
                for figure in ("learning", "learned")
            ],
            caption="../../report/captions/learning.rst",
            category="Learning",
        ),
        [
            f"{RESPEED.results}/figures/{paper}/{name}/{machine}-{figure}.{ending}"
            for paper, name in RESPEED.experiments
            for machine in RESPEED.machines
            for figure in ("seconds", "speedup")
            for ending in ("pdf", "png")
        ],
        [
            f"{RESPEED.results}/figures/{paper}/{name}/{machine}-{figure}.{ending}"
            for paper, name, machine in RESPEED.learned
            for figure in ("learning", "learned")
            for ending in ("pdf", "png")
        ],
    log:
        f"{RESPEED.results}/logs/figures.log",
    params:
        kind=RESPEED.kind,
        machine=RESPEED.machine,
        stamp=RESPEED.stamp,
    shell:
        "respeed figures {params.kind} --machine {params.machine} 2>&1 | tee {log}"
