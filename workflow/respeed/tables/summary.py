"""What came out on a machine, in a few plain sentences made from the tables: the first page of the report."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from respeed.estimators import verdicts
from respeed.estimators.cell import SETTLED_MARGIN
from respeed.model.paper import Paper
from respeed.numbers import format_share
from respeed.tables.cells import Cell
from respeed.tables.claims import Verdict

# How a number of claims of each verdict is said, of one and of several.
_SAID = {
    verdicts.REPRODUCED: ("is reproduced", "are reproduced"),
    verdicts.LARGER: ("comes out larger than claimed", "come out larger than claimed"),
    verdicts.SMALLER: ("comes out smaller", "come out smaller"),
    verdicts.ANOTHER_SHAPE: ("has another shape", "have another shape"),
    verdicts.NOT_SETTLED: ("is not settled yet", "are not settled yet"),
    verdicts.NOT_TESTABLE: ("cannot be tested here", "cannot be tested here"),
}


@dataclass(frozen=True)
class Summary:
    """`came_out` says what became of the claims, `firmness` how far the numbers can be relied on and what would do for
    more."""

    came_out: str
    firmness: str


def summarize(machine: str, paper: Paper, cells: Sequence[Cell], claims: Sequence[Verdict]) -> Summary:
    """Of one paper on one machine."""
    where = (machine, paper.name)
    mine = [cell for cell in cells if (cell.machine, cell.paper) == where and cell.measured_in == cell.experiment]
    judged = [one for one in claims if (one.machine, one.paper) == where and not one.case]
    if not any(cell.seconds for cell in mine):
        return Summary("Nothing of this paper has been measured on this machine yet.", "")
    sentences = [_verdicts(judged), *_tested(paper, judged), *_all_the_same(paper, judged)]
    return Summary(" ".join(filter(None, sentences)), _firmness(mine))


def _verdicts(judged: Sequence[Verdict]) -> str:
    if not judged:
        return ""
    counted = Counter(one.verdict for one in judged)
    parts = [f"{counted[kind]} {said[counted[kind] > 1]}" for kind, said in _SAID.items() if counted[kind]]
    missing = list(dict.fromkeys(one.reason for one in judged if one.verdict == verdicts.NOT_TESTABLE))
    why = f" ({missing[0]}{'; others for other reasons' if len(missing) > 1 else ''})" if missing else ""
    claims = "claim" if len(judged) == 1 else "claims"
    return f"Of {len(judged)} {claims}, {_joined(parts)}{why}."


def _tested(paper: Paper, judged: Sequence[Verdict]) -> list[str]:
    """What came out of each claim about the cases of a table, but for those about threads."""
    tests = {claim.name: claim for claim in paper.claims}
    found = [one for one in judged if one.here and tests[one.claim].test == "each" and tests[one.claim].threads is None]
    return [
        f"{paper.experiments[tests[one.claim].experiment].title}: {one.here} here, {one.published} published."
        for one in found
    ]


def _all_the_same(paper: Paper, judged: Sequence[Verdict]) -> list[str]:
    """What stands in for the claims that could not be tested: the first of those about a table, and the whole."""
    claims = {claim.name: claim for claim in paper.claims}
    found = {claims[one.claim].test: one for one in reversed(judged) if one.instead}
    return [
        f"{paper.experiments[claims[one.claim].experiment].title}: {one.instead}"
        for one in (found[test] for test in ("each", "total") if test in found)
    ]


def _firmness(cells: Sequence[Cell]) -> str:
    tried = [cell for cell in cells if cell.status != "not-run"]
    with_interval = sum(cell.seconds_low is not None for cell in tried)
    settled = sum(cell.status == "settled" for cell in tried)
    rounds = sorted({cell.rounds for cell in tried if cell.seconds})
    many = f"{rounds[0]} to {rounds[-1]}" if len(rounds) > 1 else f"{rounds[0]}"
    many += " rounds" if rounds != [1] else " round"
    if not with_interval:
        return f"None of {len(tried)} cells (a case on one row) has an interval, from {many}."
    text = (
        f"Of {len(tried)} cells (a case on one row) {with_interval} have an interval, {settled} of them one of at most "
        f"±{format_share(SETTLED_MARGIN)}, from {many}, each in a fresh process."
    )
    failed = [cell for cell in tried if cell.status == "failed"]
    if failed:
        text += f" {len(failed)} failed: {failed[0].reason}."
    return text


def _joined(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
