# All records there are, this machine's and everybody else's, become tables and figures.


rule tables:
    input:
        sessions=RESPEED.sessions,
        foreign=RESPEED.foreign_records,
        described_by=RESPEED.described_by,
        descriptions=RESPEED.descriptions,
        hardware=RESPEED.hardware_sheets,
    output:
        report(
            f"{RESPEED.results}/tables/claims.html",
            caption="../../report/captions/claims.rst",
            category=contents.CLAIMS,
            labels={"Table": "Claims and verdicts"},
        ),
        [
            report(
                f"{RESPEED.results}/tables/{paper}/{name}.html",
                caption="../../report/captions/table.rst",
                category=contents.TABLES,
                subcategory=contents.label_paper(RESPEED, paper),
                labels=contents.label_experiment(RESPEED, paper, name),
            )
            for paper, name in RESPEED.experiments
        ],
        report(
            f"{RESPEED.results}/tables/cells.html",
            caption="../../report/captions/cells.rst",
            category=contents.CELLS,
            labels={"Table": "Seconds"},
        ),
        report(
            f"{RESPEED.results}/tables/speedups.html",
            caption="../../report/captions/speedups.rst",
            category=contents.CELLS,
            labels={"Table": "Speedups"},
        ),
        report(
            f"{RESPEED.results}/tables/cost.html",
            caption="../../report/captions/cost.rst",
            category=contents.CELLS,
            labels={"Table": "Cost and energy"},
        ),
        [
            report(
                f"{RESPEED.results}/tables/{paper}/{name}.csv",
                caption="../../report/captions/data.rst",
                category=contents.DATA,
                subcategory=contents.label_paper(RESPEED, paper),
                labels=contents.label_experiment(RESPEED, paper, name, File=f"{name}.csv"),
            )
            for paper, name in RESPEED.experiments
        ],
        [
            report(
                f"{RESPEED.results}/tables/{name}.csv",
                caption="../../report/captions/data.rst",
                category=contents.DATA,
                subcategory=contents.ALL,
                labels={"Table": title, "File": f"{name}.csv"},
            )
            for name, title in contents.TIDY.items()
        ],
        f"{RESPEED.results}/tables/front.html",
        [f"{RESPEED.results}/tables/{name}.csv" for name in ("factors", "parts", "totals", "wholes")],
        [f"{RESPEED.results}/tables/{name}.csv" for name in ("machines", "spread", "standings", "hardware", "facts", "backends")],
        f"{RESPEED.results}/README.md",
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
        papers=RESPEED.config.papers,
        stamp=RESPEED.stamp,
    shell:
        "respeed tables {params.kind} --machine {params.machine} --papers {params.papers} 2>&1 | tee {log}"


rule figures:
    input:
        rules.tables.output,
        RESPEED.learning_records,
        RESPEED.foreign_learning,
    output:
        [
            report(
                f"{RESPEED.results}/figures/{paper}/{name}/{machine}-{figure}.svg",
                caption="../../report/captions/figure.rst",
                category=contents.FIGURES,
                subcategory=contents.label_paper(RESPEED, paper),
                labels=contents.label_experiment(RESPEED, paper, name, Shows=shows, Machine=machine),
            )
            for paper, name in RESPEED.experiments
            for machine in RESPEED.machines
            for figure, shows in contents.DRAWN.items()
        ],
        [
            report(
                f"{RESPEED.results}/figures/{paper}/{machine}-roofline.svg",
                caption="../../report/captions/roofline.rst",
                category=contents.FIGURES,
                subcategory=contents.label_paper(RESPEED, paper),
                labels={"Table": "all", "Shows": "roofline", "Machine": machine},
            )
            for paper in RESPEED.papers
            for machine in RESPEED.machines
        ],
        [
            report(
                f"{RESPEED.results}/figures/{machine}-{figure}.svg",
                caption="../../report/captions/sheet.rst",
                category=contents.MACHINES,
                labels={"Shows": title, "Machine": machine},
            )
            for machine in RESPEED.machines
            for figure, title in contents.SHEET.items()
        ],
        [
            report(
                f"{RESPEED.results}/figures/{paper}/{name}/{machine}-{figure}.svg",
                caption="../../report/captions/learning.rst",
                category=contents.LEARNING,
                subcategory=contents.label_paper(RESPEED, paper),
                labels=contents.label_experiment(RESPEED, paper, name, Shows=shows, Machine=machine),
            )
            for paper, name, machine in RESPEED.learned
            for figure, shows in contents.LEARNED.items()
        ],
        [
            f"{RESPEED.results}/figures/{paper}/{name}/{machine}-{figure}{ending}"
            for paper, name in RESPEED.experiments
            for machine in RESPEED.machines
            for figure in contents.DRAWN
            for ending in contents.ENDINGS
        ],
        [
            f"{RESPEED.results}/figures/{machine}-{figure}{ending}"
            for machine in RESPEED.machines
            for figure in contents.SHEET
            for ending in contents.ENDINGS
        ],
        [
            f"{RESPEED.results}/figures/{paper}/{machine}-roofline{ending}"
            for paper in RESPEED.papers
            for machine in RESPEED.machines
            for ending in contents.ENDINGS
        ],
        [
            f"{RESPEED.results}/figures/{paper}/{name}/{machine}-{figure}{ending}"
            for paper, name, machine in RESPEED.learned
            for figure in contents.LEARNED
            for ending in contents.ENDINGS
        ],
    log:
        f"{RESPEED.results}/logs/figures.log",
    params:
        kind=RESPEED.kind,
        machine=RESPEED.machine,
        papers=RESPEED.config.papers,
        stamp=RESPEED.stamp,
    shell:
        "respeed figures {params.kind} --machine {params.machine} --papers {params.papers} 2>&1 | tee {log}"
