"""What is printed of a doubt: the answer first, and then what would change a reader's mind."""

import json
import math
import platform
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from tabulate import tabulate

from respeed.analysis.estimates import Estimate, number_of
from respeed.machine import describe_machine
from respeed.speedup.doubt import Answer, Doubt, ask, exit_code, judge_growth
from respeed.speedup.turns import Side
from respeed.text import (
    NO_INTERVAL,
    NOTHING,
    counted,
    format_number,
    format_speedup,
    in_words,
    join_words,
    measured_time,
)


def measure_speedup(as_json: bool, as_markdown: bool, **options: Any) -> int:
    """Measure the two commands of a `Doubt`, print what came out, and return the exit code (see `exit_code`)."""
    doubt = Doubt(**options)
    answers = ask(doubt)
    if as_json:
        print(json.dumps(_document(doubt, answers), indent=1, allow_nan=False))
    else:
        print("\n".join((_for_review if as_markdown else _lines)(doubt, answers)))
    return exit_code(answers)


def _document(doubt: Doubt, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return all that is known of a doubt."""
    facts = []
    for answer in answers:
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
    return {**asdict(doubt), "answers": facts, "growth": judge_growth(answers), "machine": describe_machine()}


def _numbers(estimate: Estimate) -> dict[str, float | None]:
    return {"value": number_of(estimate.value), "low": estimate.low, "high": estimate.high}


def _lines(doubt: Doubt, answers: Sequence[Answer]) -> Iterator[str]:
    """Yield the lines for a terminal."""
    for answer in answers:
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
    if growth := judge_growth(answers):
        yield f"from value to value it grows: {growth}"


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


def say_span(ratio: Estimate) -> str:
    """Return a ratio with both ends of its interval."""
    if math.isnan(ratio.value):
        return "not measured"
    ends = f"({format_speedup(ratio.low)} to {format_speedup(ratio.high)})" if ratio.low and ratio.high else NO_INTERVAL
    return f"{format_speedup(ratio.value)} {ends}"


def _for_review(doubt: Doubt, answers: Sequence[Answer]) -> Iterator[str]:
    """Yield a paragraph in Markdown for a review: what was found of the claim, where, and how."""
    yield f"`{doubt.command}` over `{doubt.over}`:"
    for answer in answers:
        yield ". ".join([f"**{_say(doubt, answer)}**", *answer.notes, _say_rounds(answer)]) + "."
    hardware = describe_machine()
    where = join_words([hardware["cpu"] or "an unnamed CPU", *hardware["accelerators"]])
    day = datetime.now(UTC).date().isoformat()
    yield f"Measured on {where}, {platform.platform(terse=True)}, {day}, by `{shlex.join(['respeed', *sys.argv[1:]])}`."
