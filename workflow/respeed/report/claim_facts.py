"""What the report shows of a paper's claims: each with its verdict on every machine."""

from typing import Any

from respeed.analysis.claims import summarize
from respeed.analysis.columns import rows_of
from respeed.model.paper import Paper
from respeed.tables.build import Tables


def claim_facts(paper: Paper, machines: list[str], tables: Tables) -> list[dict[str, Any]]:
    """A row a claim: what it says, what was published, what came out `on` each machine; those with our numbers lead."""
    judged = {
        (one.claim, one.machine): one for one in rows_of(tables.claims) if one.paper == paper.name and not one.case
    }
    rows = []
    for claim in paper.claims:
        found = [judged[claim.name, machine] for machine in machines if (claim.name, machine) in judged]
        if found:
            rows.append(
                {
                    "says": claim.says,
                    "experiment": claim.experiment,
                    "published": found[0].published,
                    "on": [
                        {
                            "machine": one.machine,
                            "here": one.here,
                            "verdict": one.verdict,
                            "reason": one.reason,
                            "instead": one.instead,
                        }
                        for one in found
                    ],
                }
            )
    # What a machine has an answer to leads.
    return sorted(rows, key=lambda row: not any(one["here"] for one in row["on"]))


def summary_facts(paper: Paper, machines: list[str], tables: Tables) -> list[dict[str, str]]:
    """A paragraph a machine, and how firm it is."""
    made = {machine: summarize(machine, paper, tables.cell_frame, tables.claims) for machine in machines}
    return [{"machine": name, "came_out": came_out, "firmness": firm} for name, (came_out, firm) in made.items()]
