"""How often a claim is refused that is true: machines exactly as fast as the paper says, with noise."""

import random
from collections import Counter
from typing import Any

import pytest

from respeed.analysis.claims import published_value
from tests.tables.test_claims import ALL, COLUMNS, GPU, PAPER, MakeRecord, claim, judge

MACHINES, ROUNDS = 150, 6
SPREAD, DRIFT = 0.02, 0.02


def as_the_paper_says(make_record: MakeRecord, machine: int) -> list[dict[str, Any]]:
    """Six rounds of a CPU and a GPU row in the four columns: rounds differ by noise, and by a drift that both share."""
    draw = random.Random(machine)
    records = []
    for index in range(1, ROUNDS + 1):
        drift = draw.lognormvariate(0, DRIFT)
        for row, is_gpu in ((ALL, False), (GPU, True)):
            for case in COLUMNS:
                speedup = published_value(claim("each"), PAPER, case) or 0.0
                seconds = drift * draw.lognormvariate(0, SPREAD) / (speedup if is_gpu else 1.0)
                visible, hidden = (int(size) for size in case.split("x"))
                facts = {key: value for key, value in row.items() if key != "threads"}
                record = make_record(
                    [seconds], index=index, case=case, changed={"visible": visible, "hidden": hidden}, **facts
                )
                records.append(record)
    return records


@pytest.mark.slow
@pytest.mark.parametrize("test", ["each", "largest", "growth"])
def test_a_claim_that_is_true_is_refused_on_at_most_one_machine_in_twenty(make_record: MakeRecord, test: str) -> None:
    verdicts = Counter(
        judge(as_the_paper_says(make_record, machine), claim(test))[0].verdict for machine in range(MACHINES)
    )
    refused = MACHINES - verdicts["reproduced"] - verdicts["not settled"]
    assert refused <= 0.05 * MACHINES, verdicts
    assert verdicts["reproduced"] > MACHINES / 3, verdicts
