"""The table of a paper's claims, each with its verdict, and below it its cases."""

from collections.abc import Iterator, Sequence
from operator import attrgetter

from respeed.analysis.cells import reference
from respeed.analysis.tables import ClaimRow, group_by
from respeed.model import Paper
from respeed.output.results import Results
from respeed.output.table import Line, Table
from respeed.text import NOTHING, Value, join_words


def answered_claims(results: Results, paper: Paper) -> list[ClaimRow]:
    """Return the rows of claims.csv that have an answer: every claim, and below it its cases, each number once."""
    rows = [row for row in results.rows(ClaimRow, paper=paper.name) if row.here]
    rows.sort(key=lambda row: results.machines.index(row.machine))
    # A claim about growth has the cases of another claim; of a claim with one measured case, both rows have its number.
    numbers = set()
    answered = []
    for row in rows:
        number = row.machine, row.profile, row.base_profile, row.speedup
        if not row.case or number not in numbers:
            answered.append(row)
        if row.is_one_number:
            numbers.add(number)
    return answered


def name_claim(paper: Paper, row: ClaimRow) -> str:
    """Return the name of a row of claims.csv for people: what the claim says, or the heading of one of its cases."""
    if not row.case:
        return row.says
    experiment = paper.experiments[paper.claims[row.claim].experiment]
    return experiment.column_words()[row.case]


def lay_out_claims(results: Results, paper: Paper) -> Table:
    """Return a table with a line for each claim that was tested and for its cases, and a note on the other claims."""
    lines = []
    for row in answered_claims(results, paper):
        # A claim as a whole has the profiles of our rows.
        profiles = ""
        if not row.case:
            profiles = " over ".join(dict.fromkeys([row.profile, row.base_profile]))
        remark = "; ".join(filter(None, [row.reason, row.doubt]))
        values = {
            "published": Value(row.published or NOTHING, kind="words"),
            "here": Value(row.here, profiles, kind="words"),
            "verdict": Value(row.verdict, remark, kind="verdict"),
        }
        group = results.describe(row.machine)
        look = "case" if row.case else "claim"
        lines.append(Line(group, name_claim(paper, row), values, look))
    claims = results.rows(ClaimRow, paper=paper.name, case="")
    untested = [row for row in claims if not row.here]
    notes = list(_untested(results, paper, untested))
    columns = {"published": "Published", "here": "Here", "verdict": "Verdict"}
    return Table(f"Claims of {reference(paper)}", "", columns, lines, notes, head="Claim")


def _untested(results: Results, paper: Paper, claims: Sequence[ClaimRow]) -> Iterator[str]:
    """Yield a note for each machine: the tables whose claims have no answer, and why not."""
    tables = {}
    for name, claim in paper.claims.items():
        tables[name] = f"their {claim.mean} mean"
        if claim.experiment:
            tables[name] = paper.experiments[claim.experiment].title
    for machine, rows in group_by(claims, attrgetter("machine")).items():
        about = {paper.claims[row.claim].row for row in rows} & set(paper.device_rows)
        how = " The same command on a machine with a GPU tests them." if about else ""
        reasons = []
        for reason, alike in group_by(rows, attrgetter("reason")).items():
            titles: dict[str, str] = {}
            for row in alike:
                title = tables[row.claim]
                titles.setdefault(title, f"{title} ({row.published})" if row.published else title)
            reasons.append(f"{join_words([*titles.values()])}: {reason}")
        yield f"Not tested{results.on(machine) or ' here'}: {'; '.join(reasons)}.{how}"
