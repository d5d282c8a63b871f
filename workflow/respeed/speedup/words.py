"""What is printed of a doubt: the answer first, and then what would change a reader's mind."""

import json
import platform
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from tabulate import tabulate

from respeed.analysis.estimates import Estimate, number_of
from respeed.errors import UNFINISHED, UserError, tell
from respeed.inputs.reader import fit
from respeed.machine import describe_machine
from respeed.output.table import escape_markdown
from respeed.speedup.claims import read_claims, say_commands
from respeed.speedup.doubt import Answer, Doubt, Stopped, ask, exit_code, judge_growth, say_span
from respeed.speedup.history import Entry, add_to_history, read_history, say_before
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
    """What came out of a doubt: its answers, or the line that says why there are none."""

    doubt: Doubt
    answers: Sequence[Answer]
    error: str = ""


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
    before = read_history(history) if history else []
    outcomes = []
    for doubt in doubts:
        try:
            outcomes.append(_ask(doubt, is_alone=not claims))
        except Stopped as error:
            if not outcomes:
                raise
            tell(error)
            break
        if history:
            add_to_history(history, doubt, outcomes[-1].answers)
        if not as_json:
            print("\n".join((_for_review if as_markdown else _lines)(outcomes[-1], before)), flush=True)
        if any(answer.trial.measured.is_stopped for answer in outcomes[-1].answers):
            break
    if as_json:
        documents = [_document(outcome) for outcome in outcomes]
        print(json.dumps(documents if claims else documents[0], indent=1, allow_nan=False))
    elif claims:
        print(_count(outcomes, len(doubts)))
    code = exit_code(list(chain.from_iterable(outcome.answers for outcome in outcomes)))
    if any(outcome.error for outcome in outcomes):
        return 2
    return UNFINISHED if code == 0 and len(outcomes) < len(doubts) else code


def _ask(doubt: Doubt, *, is_alone: bool) -> Outcome:
    """Measure a doubt; of several, one that cannot be measured does not end the others."""
    try:
        return Outcome(doubt, ask(doubt))
    except Stopped:
        raise
    except UserError as error:
        if is_alone:
            raise
        return Outcome(doubt, [], str(error))


def _count(outcomes: Sequence[Outcome], claims: int) -> str:
    """Return how many of so many claims hold."""
    hold = 0
    for outcome in outcomes:
        hold += not outcome.error and exit_code(outcome.answers) == 0
    return f"{hold} of {counted(claims, 'claim')} reproduced"


def _document(outcome: Outcome) -> dict[str, Any]:
    """Return all that is known of a doubt."""
    facts = []
    for answer in outcome.answers:
        trial = answer.trial
        facts.append(
            {
                "value": trial.value,
                "ratio": _numbers(answer.ratio),
                "control": _numbers(trial.control_ratio),
                "sides": [asdict(side) | {"cores": side.cores} for side in (trial.row, trial.base)],
                **trial.measured._asdict(),
                "is_same": trial.is_same,
                "is_trusted": answer.is_trusted,
                "verdict": answer.verdict,
                "notes": answer.notes,
            }
        )
    return {
        **asdict(outcome.doubt),
        "error": outcome.error,
        "answers": facts,
        "growth": judge_growth(outcome.answers),
        "machine": describe_machine(),
    }


def _numbers(estimate: Estimate) -> dict[str, float | None]:
    return {"value": number_of(estimate.value), "low": estimate.low, "high": estimate.high}


def _lines(outcome: Outcome, before: Sequence[Entry]) -> Iterator[str]:
    """Yield the lines for a terminal."""
    doubt = outcome.doubt
    if doubt.says:
        yield doubt.says
    if outcome.error:
        yield f"not measured: {outcome.error}"
    for answer in outcome.answers:
        yield _say(doubt, answer)
        if not doubt.parameter:
            yield ""
            yield tabulate(
                map(_describe_side, (answer.trial.row, answer.trial.base)), "keys", "plain", disable_numparse=True
            )
            yield ""
            yield f"{_say_rounds(answer)}; the quicker one over itself: {say_span(answer.trial.control_ratio)}"
        for note in answer.notes:
            yield f"note: {note}"
        yield from say_before(before, doubt, answer)
    if growth := judge_growth(outcome.answers):
        yield f"from value to value it grows: {growth}"
    if doubt.says:
        yield ""


def _say(doubt: Doubt, answer: Answer) -> str:
    """Return the ratio and the verdict."""
    at_value = f"{doubt.parameter[0]} {answer.trial.value}: " if doubt.parameter else ""
    if not doubt.published:
        return f"{at_value}{say_span(answer.ratio)}; nothing is published (--published)"
    published = f"published {doubt.published:g}x, off by up to {doubt.tolerance:g} %"
    return f"{at_value}{say_span(answer.ratio)}: {answer.verdict} ({published})"


def _say_rounds(answer: Answer) -> str:
    return f"{counted(answer.trial.measured.rounds, 'round')} in turns, {in_words(answer.trial.measured.seconds)}"


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


def _for_review(outcome: Outcome, before: Sequence[Entry]) -> Iterator[str]:
    """Yield a paragraph in Markdown for a review: what was found of the claim, where, and how."""
    doubt = outcome.doubt
    if doubt.says:
        yield f"{escape_markdown(doubt.says)}\n"
    yield f"{_as_code(doubt.run)} over {_as_code(doubt.over)}:"
    if outcome.error:
        yield f"not measured: {escape_markdown(outcome.error)}."
    for answer in outcome.answers:
        parts = [*answer.notes, _say_rounds(answer), *say_before(before, doubt, answer)]
        yield ". ".join([f"**{_say(doubt, answer)}**", *map(escape_markdown, parts)]) + "."
    hardware = describe_machine()
    where = join_words([hardware["cpu"] or "an unnamed CPU", *hardware["accelerators"]])
    day = datetime.now(UTC).date().isoformat()
    command = _as_code(shlex.join(["respeed", *sys.argv[1:]]))
    yield f"Measured on {where}, {platform.platform(terse=True)}, {day}, by {command}."
    if doubt.says:
        yield ""


def _as_code(command: str) -> str:
    """Return a command as Markdown shows it, even with backticks in it."""
    fence = "`" * (1 + max(map(len, re.findall("`+", command)), default=0))
    return f"{fence} {command} {fence}" if len(fence) > 1 else f"`{command}`"
