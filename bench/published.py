"""How far published times lie above the bound max(FLOP / F, bytes / B) of the hardware that they name.

    ./run python bench/published.py

Prints a row for each workload of a paper, on CPUs and on GPUs: how many printed numbers it has, and the smallest, the
median and the largest of time over bound. F and B are those that paper.yaml says of a published row, or else those of
workflow/datasheets.yaml. Numbers of several GPUs together are left out. Nothing is measured.
"""

import statistics
from collections import defaultdict

from tabulate import tabulate

from respeed.analysis.counts import count_cases
from respeed.analysis.estimates import FULL_PRECISION
from respeed.analysis.expected import UNCOUNTED
from respeed.analysis.predicted import Rates, published_bound
from respeed.inputs.machines import load_datasheets
from respeed.inputs.papers import load_papers
from respeed.model import Paper, PublishedRow
from respeed.records import case_key

# The data sheet of rows whose paper says no rates, by what the name of the row begins with.
SHEETS = {"p100": "P100 SXM2", "v100": "V100 SXM2", "t4": "T4", "m40": "M40", "k80": "K80"}
# Rows of other papers that ran on the same card.
SAME_CARD = {
    "titanx": "titan-x-maxwell",
    "titanx-pascal": "titan-x",
    "1080ti": "gtx-1080-ti",
    "1080ti-sparse": "gtx-1080-ti",
}


def find_rates(row: PublishedRow, papers: dict[str, Paper]) -> Rates:
    """Return the rates of what a published row ran on; none where nobody says them."""
    other = papers["cnn-benchmarks"].rows.get(SAME_CARD.get(row.name, ""))
    if hardware := row.hardware or (other and other.hardware):
        peaks = {row.precision or FULL_PRECISION: hardware.flops_per_second / 1e9}
        return {row.beside[-1]: (peaks, hardware.bytes_per_second / 1e9)}
    sheet = load_datasheets().get(SHEETS.get(row.name.split("-")[0], ""))
    return {row.beside[-1]: (sheet.gflops, sheet.gbytes)} if sheet else {}


def main() -> None:
    """Print the table."""
    papers, ratios = load_papers(), defaultdict[tuple[str, str, str], list[float]](list)
    for paper in papers.values():
        counts = count_cases([case for table in paper.experiments.values() for case in table.cases])
        for table in paper.experiments.values():
            for case in table.cases:
                key = case_key(case.workload, case.parameters)
                flops, moved = (table.steps(case) * count for count in counts.get(key, UNCOUNTED))
                for row in paper.rows.values() if case.parameters.get("replicas", 1) == 1 else ():
                    seconds = paper.seconds(table.name, case.name, row.name, flops, moved)
                    if seconds and table.ran_in(case.workload, row.name):
                        bound = published_bound(paper, table.name, case.name, row.name, find_rates(row, papers), counts)
                        where = paper.name, case.workload, "CPU" if row.is_cpu else "GPU"
                        ratios[where] += [seconds / bound] if bound > 0 else []
    rows = [
        [*where, len(found), *(f"{digest(found):.3g}" for digest in (min, statistics.median, max))]
        for where, found in ratios.items()
        if found
    ]
    print(tabulate(rows, ["paper", "workload", "on", "numbers", "smallest", "median", "largest"], "github"))


if __name__ == "__main__":
    main()
