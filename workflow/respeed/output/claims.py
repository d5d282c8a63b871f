"""The table of a paper's claims, each with its verdict, and below it its cases."""

from collections.abc import Iterator
from operator import attrgetter

from respeed.analysis.cells import reference
from respeed.analysis.tables import Cell, ClaimRow, group_by
from respeed.model import Paper
from respeed.output.results import Results
from respeed.output.table import Line, Table
from respeed.text import NOTHING, Value, join_words


def answered_claims(results: Results, paper: Paper) -> list[ClaimRow]:
    """Return the rows of claims.csv that have an answer: every claim, and below it its cases, each number once."""
    answered = []
    for machine in results.machines:
        # A claim about growth has the cases of another claim; of a claim with one measured case, both rows have its
        # number.
        numbers = set()
        for row in results.rows(ClaimRow, machine=machine, paper=paper.name):
            number = row.profile, row.base_profile, row.speedup
            if row.here and not (row.case and number in numbers):
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
    notes = list(_say_untested(results, paper))
    columns = {"published": "Published", "here": "Here", "verdict": "Verdict"}
    return Table(f"Claims of {reference(paper)}", "", columns, lines, notes, head="Claim")


def _say_untested(results: Results, paper: Paper) -> Iterator[str]:
    """Yield a note for each machine: the tables whose claims have no answer, and why not."""
    for machine in results.machines:
        claims = results.rows(ClaimRow, machine=machine, paper=paper.name, case="")
        untested = [row for row in claims if not row.here]
        reasons = []
        for reason, rows in group_by(untested, attrgetter("reason")).items():
            titles: dict[str, str] = {}
            for row in rows:
                title = _name_table(paper, row)
                published = f" ({row.published})" if row.published else ""
                titles.setdefault(title, title + published)
            reasons.append(f"{join_words([*titles.values()])}: {reason}")
        note = f"Not tested{results.on(machine) or ' here'}: {'; '.join(reasons)}."
        cells = results.rows(Cell, machine=machine)
        has_gpu = any(cell.seconds and not cell.is_cpu for cell in cells)
        need_one = {paper.claims[row.claim].row for row in untested} & {*paper.device_rows}
        if need_one and not has_gpu and not results.smoke:
            note += " The same command on a machine with a GPU tests what needs one."
        if untested:
            yield note


def _name_table(paper: Paper, row: ClaimRow) -> str:
    """Return the title of the table that a claim is about."""
    claim = paper.claims[row.claim]
    if claim.of:
        return "their geometric mean"
    return paper.experiments[claim.experiment].title
