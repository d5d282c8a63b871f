"""What is printed of a doubt: the answer first, and then what would change a reader's mind."""

import json
import platform
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from jinja2.filters import do_mark_safe
from tabulate import tabulate

from respeed.analysis.estimates import Estimate, number_of
from respeed.errors import UNFINISHED, UserError, tell
from respeed.inputs.reader import fit
from respeed.machine import describe_machine
from respeed.output.table import escape_markdown, templates
from respeed.speedup.claims import read_claims, say_commands
from respeed.speedup.doubt import Answer, Doubt, Stopped, ask, exit_code, judge_growth, list_notes, say_span
from respeed.speedup.history import Entry, add_to_history, list_earlier, read_history
from respeed.speedup.turns import Side
from respeed.text import (
    NOTHING,
    counted,
    format_number,
    in_words,
    join_words,
    measured_time,
)

# What stands for the file in a message about options.
OPTIONS = Path("speedup")


class Outcome(NamedTuple):
    """What came out of a doubt: its answers, with the notes of each, or the line that says why there are none."""

    doubt: Doubt
    answers: Sequence[Answer] = ()
    notes: Sequence[Sequence[str]] = ()
    error: str = ""

    @property
    def growth(self) -> str:
        """Return the verdict on whether the ratio grows from value to value; empty for one value."""
        return judge_growth(self.answers)


def measure_speedup(
    claims: Path | None, allow: str | None, history: Path | None, as_json: bool, as_markdown: bool, **options: Any
) -> int:
    """Measure the commands of a `Doubt`, or of the `claims` in a file, and print what came out.

    Without the checksum of the file in `allow`, print its commands and run none. A file with the `history` of ratios
    is read and gets a line for each new one. Options that are None or false were not given.

    Returns
    -------
    int
        2 if a claim could not be measured; otherwise as `exit_code` has it.
    """
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    if claims:
        if given:
            names = join_words(sorted(given))
            raise UserError(f"--claims: the file says how each of its claims is measured; leave out: {names}")
        doubts: Sequence[Doubt]
        doubts, checksum = read_claims(claims)
        if allow is None:
            print("\n".join(say_commands(claims, doubts, checksum)))
            return 2
        if allow != checksum:
            raise UserError(f"--allow: {claims} is another file than the one with this checksum; look at it again")
    elif allow is not None:
        raise UserError("--allow: is for the commands of --claims FILE; leave it out")
    elif {"run", "over"} <= given.keys():
        doubts = [fit(Doubt, given, OPTIONS)]
    else:
        raise UserError("speedup: needs COMMAND and --over COMMAND, or --claims FILE")
    earlier = read_history(history) if history else []
    outcomes: list[Outcome] = []
    for doubt in doubts:
        try:
            outcome = _ask(doubt, earlier)
        except Stopped as error:
            tell(error)
            break
        if outcome.error and not claims:
            raise UserError(outcome.error)
        outcomes.append(outcome)
        if history:
            add_to_history(history, outcome.answers)
        if not as_json:
            print(_write(outcome, as_markdown=as_markdown), end="", flush=True)
        if any(answer.measured.is_stopped for answer in outcome.answers):
            break
    if not outcomes:
        return UNFINISHED
    if as_json:
        documents = list(map(_document, outcomes))
        print(json.dumps(documents if claims else documents[0], indent=1, allow_nan=False))
    elif claims:
        hold = [not outcome.error and exit_code(outcome.answers) == 0 for outcome in outcomes]
        print(f"{sum(hold)} of {counted(len(doubts), 'claim')} reproduced")
    if any(outcome.error for outcome in outcomes):
        return 2
    code = exit_code([*chain.from_iterable(outcome.answers for outcome in outcomes)])
    return UNFINISHED if code == 0 and len(outcomes) < len(doubts) else code


def _ask(doubt: Doubt, earlier: Sequence[Entry]) -> Outcome:
    """Measure a doubt, and note what came out of it earlier; one that cannot be measured has an error."""
    try:
        answers = ask(doubt)
    except Stopped:
        raise
    except UserError as error:
        return Outcome(doubt, error=str(error))
    return Outcome(doubt, answers, [[*list_notes(answer), *list_earlier(earlier, answer)] for answer in answers])


def _document(outcome: Outcome) -> dict[str, Any]:
    """Return all that is known of a doubt."""
    answers = []
    for answer, notes in zip(outcome.answers, outcome.notes, strict=True):
        facts = {name: getattr(answer, name) for name in ("value", "is_same", "is_trusted", "verdict")}
        facts |= {"ratio": _numbers(answer.ratio), "control": _numbers(answer.control_ratio), "notes": notes}
        sides = [asdict(side) | {"cores": side.cores} for side in (answer.row, answer.base)]
        answers.append({**facts, **answer.measured._asdict(), "sides": sides})
    document = {"error": outcome.error, "answers": answers, "growth": outcome.growth, "machine": describe_machine()}
    return asdict(outcome.doubt) | document


def _numbers(estimate: Estimate) -> dict[str, float | None]:
    return {"value": number_of(estimate.value), "low": estimate.low, "high": estimate.high}


def _write(outcome: Outcome, *, as_markdown: bool) -> str:
    """Return the lines for a terminal; or a paragraph in Markdown for a review: what was found, where, and how."""
    texts = templates(escape_markdown if as_markdown else str)
    texts.filters |= {"span": say_span, "counted": counted, "in_words": in_words, "code": _as_code}
    texts.filters["table"] = lambda sides: tabulate(map(_describe_side, sides), "keys", "plain", disable_numparse=True)
    hardware = describe_machine()
    page = texts.get_template("speedup_review.jinja" if as_markdown else "speedup.jinja")
    return page.render(
        **outcome._asdict(),
        growth=outcome.growth,
        where=join_words([hardware["cpu"] or "an unnamed CPU", *hardware["accelerators"]]),
        system=platform.platform(terse=True),
        day=datetime.now(UTC).date(),
        command=shlex.join(["respeed", *sys.argv[1:]]),
    )


def _describe_side(side: Side) -> dict[str, str]:
    """Return what the table has of a command."""
    time = side.time
    value = measured_time(time.value, time.low, time.high)
    return {
        "": side.command,
        "a run": f"{value.text} {value.interval}",
        "cores": format_number(side.cores, 2),
        "threads": str(side.threads or NOTHING),
        "GPUs": join_words(side.devices) or NOTHING,
    }


def _as_code(command: str) -> Any:
    """Return a command as Markdown shows it, even with backticks in it."""
    fence = "`" * (1 + max(map(len, re.findall("`+", command)), default=0))
    return do_mark_safe(f"{fence} {command} {fence}" if len(fence) > 1 else f"`{command}`")
