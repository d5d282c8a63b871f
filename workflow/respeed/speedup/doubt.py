"""Ask how many times as fast one command is as another, and judge what is published of that.

The quicker of the two has a second place in each round: the ratio of its two places is a control, which must be 1.
"""

import hashlib
import math
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError
from pydantic.dataclasses import dataclass

from respeed.analysis.claims import NOT_SETTLED, NOT_TESTABLE, SMALLER, UNKNOWN, ClaimCase, judge_claim
from respeed.analysis.controls import NEAR
from respeed.analysis.estimates import FEWEST_ROUNDS, Estimate, estimate_ratio, rounds_missing
from respeed.errors import UNFINISHED, ProgramFailed, UserError
from respeed.machine.cpu import usable_cores
from respeed.machine.process import allowed_cpus, bind, machine_lock
from respeed.measure.timing import seconds_now
from respeed.model import FORM, Count, Positive, Text
from respeed.speedup.turns import (
    BLOCK_SECONDS,
    MOST_ROUNDS,
    How,
    Measured,
    Side,
    begin_side,
    count_first_runs,
    make_runner,
    measure_rounds,
)
from respeed.text import NO_INTERVAL, format_number, format_share, format_speedup, in_words, measured_time

# A base that keeps less than this share of the other command's cores busy is no fair one.
FEWER_CORES = 0.75
MORE_THAN_ONE = 1.2
# Other programs are named if they took more of a core.
BUSY_CORES = 0.1
# A first run that took so many times as long as later ones is named: these found something in a cache.
CACHED = 2.0
NOT_JUDGED = "not judged"
MOST_VALUES = 50
# The fields of a doubt that are commands.
COMMANDS = ("run", "over", "setup", "prepare", "startup")


def _check_command(command: str) -> str:
    """Return a command if it is empty or has words; raise ValueError otherwise, or if a quote in it has no end."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"{command}: {str(error).lower()}") from None
    if command and not words:
        raise ValueError(f"has no command, but {command!r}")
    return command


def _check_pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    return pattern


SOME_WORD = Field(pattern=r"\S", description="a command")
Command = Annotated[str, Field(max_length=1000), AfterValidator(_check_command)]


@dataclass(frozen=True, config=FORM, kw_only=True)
class Doubt:
    """What a user asks, by the options of `respeed speedup`, and the sentence that says it, if any.

    `parameter` has a name, and values with commas.
    """

    says: Annotated[str, Field(max_length=1000)] = ""
    run: Annotated[Command, SOME_WORD]
    over: Annotated[Command, SOME_WORD]
    published: Positive | None = None
    tolerance: Annotated[Positive, Field(lt=100)] = 10.0
    minutes: Positive = 1.0
    cores: Count | None = None
    warmup: Annotated[int, Field(ge=0, le=MOST_ROUNDS)] = 0
    setup: Command = ""
    prepare: Command = ""
    startup: Command = ""
    time_pattern: Annotated[str, Field(max_length=1000), AfterValidator(_check_pattern)] = ""
    check: str = ""
    parameter: tuple[Text, Text] | None = None
    shell: bool = False
    ignore_failure: bool = False
    without_startup: bool = False

    def at_values(self) -> dict[str, "Doubt"]:
        """Return the doubt with each value of the parameter in place of its name in braces, by value.

        Without a parameter, the doubt itself is that at "". Raises UserError if a command is none with a value.
        """
        if not self.parameter:
            return {"": self}
        name, listed = self.parameter
        doubts = {}
        for value in listed.split(",")[:MOST_VALUES]:
            texts: dict[str, Any] = {}
            for key in COMMANDS:
                texts[key] = getattr(self, key).replace(f"{{{name}}}", value)
            try:
                doubts[value] = replace(self, **texts)
            except ValidationError as error:
                raise UserError(f"parameter: {name} {value}: {error.errors()[0]['msg']}") from None
        if len(doubts) < listed.count(",") + 1:
            raise UserError(f"parameter: {name} has a value twice, or more than {MOST_VALUES}; leave some out")
        return doubts

    @property
    def settings(self) -> dict[str, Any]:
        """Return what differs from the defaults, but for the sentence."""
        differing = {}
        for entry in fields(self):
            setting = getattr(self, entry.name)
            if entry.name != "says" and setting != entry.default:
                differing[entry.name] = setting
        return differing

    @property
    def file(self) -> str:
        """Return the file that --check names; empty if it names none."""
        return "" if self.check == "same" else self.check


@dataclass(frozen=True)
class Answer:
    """What came out of a doubt at one value of its parameter.

    The quicker of the two commands, `row` and `base`, has a second place in each round, the `control`. `is_same` says
    whether what must be the same was so in the first runs.
    """

    doubt: Doubt
    value: str
    row: Side
    base: Side
    control: Side
    startup: Side | None
    measured: Measured
    ratio: Estimate
    is_same: bool

    @property
    def control_ratio(self) -> Estimate:
        """Return how many times as fast the quicker command is as itself."""
        quicker = self.row if self.control.command == self.row.command else self.base
        return _ratio(quicker.seconds, self.control.seconds) if self.control.seconds else UNKNOWN

    @property
    def is_off(self) -> bool:
        """Return whether the control differs from 1, so that no ratio can be trusted."""
        return self.control_ratio.is_above(1 + NEAR) or self.control_ratio.is_below(1 - NEAR)

    @property
    def differs(self) -> bool:
        """Return whether results that must be the same are not."""
        return bool(self.doubt.check) and not self.is_same

    @property
    def is_trusted(self) -> bool:
        """Return whether the ratio can be judged."""
        return not (self.measured.trouble or self.is_off or self.differs)

    @property
    def case(self) -> ClaimCase:
        """Return the ratio as a case of a paper's claim."""
        return ClaimCase(
            self.value,
            self.value,
            published=self.doubt.published or 1.0,
            text="published",
            rounding=self.doubt.tolerance / 100,
            ratio=self.ratio,
            rounds=self.measured.rounds,
        )

    @property
    def verdict(self) -> str:
        """Return the verdict by the rules for papers; empty if nothing is published."""
        if not self.doubt.published:
            return ""
        return judge_claim("each", [self.case]).kind if self.is_trusted else NOT_JUDGED

    def __str__(self) -> str:
        """Return the ratio and the verdict in words."""
        doubt = self.doubt
        at_value = f"{doubt.parameter[0]} {self.value}: " if doubt.parameter else ""
        if not doubt.published:
            return f"{at_value}{say_span(self.ratio)}; nothing is published (--published)"
        published = f"published {doubt.published:g}x, off by up to {doubt.tolerance:g} %"
        return f"{at_value}{say_span(self.ratio)}: {self.verdict} ({published})"


class Stopped(UserError):
    """The user stopped it before there was a number."""


def ask(doubt: Doubt) -> list[Answer]:
    """Measure the commands of a doubt at each value of its parameter; wait for another measurement on this machine.

    Raises UserError if it cannot be measured as it is asked, or if a command fails in its first run.
    """
    _check(doubt)
    before = allowed_cpus()
    doubts = doubt.at_values()
    answers = []
    with machine_lock(None, partial(print, file=sys.stderr)):
        bind(usable_cores()[: doubt.cores])
        try:
            for value, answered in doubts.items():
                answers.append(_measure(answered, value, 60 * doubt.minutes / len(doubts)))
                if answers[-1].measured.is_stopped:
                    break
        finally:
            bind(before)
    return answers


def _check(doubt: Doubt) -> None:
    """Raise UserError if a doubt cannot be measured as it is asked."""
    cores = len(usable_cores())
    if doubt.cores is not None and not 1 <= doubt.cores <= cores:
        raise UserError(f"--cores: {doubt.cores} is not from 1 to {cores}, the cores that may be used here")
    if doubt.without_startup and not doubt.startup:
        raise UserError("--without-startup: needs --startup COMMAND, which does nothing but start")
    if doubt.parameter and f"{{{doubt.parameter[0]}}}" not in doubt.run + doubt.over:
        raise UserError(f"--parameter-list: neither command has {{{doubt.parameter[0]}}}")


def _measure(doubt: Doubt, value: str, budget_seconds: float) -> Answer:
    """Run each command for the first time, and then in rounds until the budget is used up.

    If not even one round fits into the budget, the first runs are the round, without a control.
    """
    began = seconds_now()
    pattern = re.compile(doubt.time_pattern) if doubt.time_pattern else None
    how = How(doubt.shell, doubt.prepare, doubt.ignore_failure, pattern)
    sides = []
    results = []
    with make_runner(how) as runner:
        try:
            if doubt.setup:
                replace(runner, how=replace(runner.how, prepare="", time_pattern=None)).run(doubt.setup)
            for command in (doubt.run, doubt.over):
                sides.append(begin_side(command, runner, doubt.warmup))
                results.append(_checksum(doubt.file) if doubt.file else sides[-1].checksum)
            startup = begin_side(doubt.startup, runner, doubt.warmup) if doubt.startup else None
        except ProgramFailed as error:
            raise UserError(f"{error} in its first run; nothing was measured") from None
        except KeyboardInterrupt:
            raise Stopped("stopped in the first runs; nothing was measured") from None
        budget_seconds -= seconds_now() - began
        control = replace(min(sides, key=lambda side: side.round_seconds), seconds=[])
        timed = [*sides, *filter(None, [startup])]
        if sum(side.round_seconds for side in (*timed, control)) > budget_seconds:
            measured = count_first_runs(timed)
        else:
            measured = measure_rounds([*timed, control], runner, budget_seconds)
    row, base = sides
    subtracted = startup if doubt.without_startup else None
    ratio = _ratio(_without(base, subtracted), _without(row, subtracted))
    return Answer(doubt, value, row, base, control, startup, measured, ratio, results[0] == results[1])


def _checksum(name: str) -> str:
    """Return the checksum of the file that a command wrote."""
    try:
        return hashlib.sha256(Path(name).read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"--check: {name}: cannot be read after a command ran: {error.strerror}") from None


def _ratio(base: Sequence[float], row: Sequence[float]) -> Estimate:
    """Return how many times as fast `row` is as `base`; NaN without a round."""
    return estimate_ratio({0: base}, {0: row})[0] if base else UNKNOWN


def _without(side: Side, startup: Side | None) -> list[float]:
    """Return the seconds of a side's rounds, less those of a start-up in the same round."""
    if startup is None:
        return side.seconds
    seconds = [total - alone for total, alone in zip(side.seconds, startup.seconds, strict=True)]
    if min(seconds, default=1.0) <= 0:
        raise UserError(f"--without-startup: {side.command} takes no longer than its start-up")
    return seconds


def list_notes(answer: Answer) -> Iterator[str]:
    """Yield what would change a reader's mind: what happened, what is not fair, what more time would bring."""
    doubt = answer.doubt
    row = answer.row
    base = answer.base
    measured = answer.measured
    if answer.is_off:
        yield "one command over itself should be 1: this machine is too disturbed to tell"
    if not answer.is_same:
        yield f"results differ: {doubt.file or 'standard output'} is not the same"
    if measured.trouble:
        yield measured.trouble
    elif measured.rounds < FEWEST_ROUNDS:
        minutes = (FEWEST_ROUNDS + 1) * measured.seconds / measured.rounds / 60
        yield f"an interval needs {FEWEST_ROUNDS} rounds (--minutes {format_number(max(minutes, 0.1), 2)})"
    elif doubt.published and answer.case.place == "open":
        more = rounds_missing(answer.ratio, measured.rounds) * measured.seconds / measured.rounds
        yield f"about {in_words(more)} more would settle it (--minutes)"
    if row.cores > MORE_THAN_ONE and base.cores < FEWER_CORES * row.cores:
        busy = f"{format_number(base.cores, 2)} cores busy, {row.command} {format_number(row.cores, 2)}"
        yield f"{base.command} kept {busy}; --cores 1 compares them on one core each"
    for side in (row, base):
        if side.first.seconds > max(BLOCK_SECONDS, CACHED * side.time.value):
            took = measured_time(side.first.seconds, None, None).text
            yield f"the first run of {side.command} took {took}: later ones may use what it kept (--prepare)"
    if answer.startup and measured.rounds:
        yield _say_startup(answer.startup, row, base, is_subtracted=doubt.without_startup)
    if measured.foreign_cores > BUSY_CORES and not measured.trouble:
        yield f"other programs kept {format_number(measured.foreign_cores, 2)} cores busy meanwhile"


def _say_startup(startup: Side, row: Side, base: Side, *, is_subtracted: bool) -> str:
    """Say what share of the quicker command's time its start-up is, and what the ratio is without it."""
    alone = startup.time.value
    quicker = min(row, base, key=lambda side: side.time.value)
    line = f"start-up alone is {format_share(alone / quicker.time.value)} of the time of {quicker.command}"
    if is_subtracted:
        return f"{line}, and is subtracted"
    if alone >= quicker.time.value:
        return line
    ratio = (base.time.value - alone) / (row.time.value - alone)
    return f"{line}; without it {format_speedup(ratio)} (--without-startup)"


def say_span(ratio: Estimate) -> str:
    """Return a ratio with both ends of its interval."""
    if math.isnan(ratio.value):
        return "not measured"
    ends = f"({format_speedup(ratio.low)} to {format_speedup(ratio.high)})" if ratio.low and ratio.high else NO_INTERVAL
    return f"{format_speedup(ratio.value)} {ends}"


def judge_growth(answers: Sequence[Answer]) -> str:
    """Return whether the ratio grows from each value of the parameter to the next; empty for one value."""
    if len(answers) < 2:
        return ""
    if not all(answer.is_trusted for answer in answers):
        return NOT_JUDGED
    return judge_claim("growth", [answer.case for answer in answers]).kind


def exit_code(answers: Sequence[Answer]) -> int:
    """Return the exit code of answers, the first of these that holds for one.

    2 if a command failed in its rounds; 1 if a ratio is smaller, or results differ that must be the same; 75 if a ratio
    is open or not to be trusted, or the user stopped; 0 if all is reproduced or larger, or nothing is published.
    """
    codes = [0]
    for answer in answers:
        if answer.measured.trouble and not answer.measured.is_stopped:
            return 2
        if answer.verdict == SMALLER or answer.differs:
            codes.append(1)
        elif answer.verdict in (NOT_SETTLED, NOT_TESTABLE) or not answer.is_trusted:
            codes.append(UNFINISHED)
    return 1 if 1 in codes else max(codes)
