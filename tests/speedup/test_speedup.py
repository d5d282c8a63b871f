"""`respeed speedup`: commands are run and timed with real programs, and judged by times that are given."""

import contextlib
import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from respeed.cli import main
from respeed.speedup import doubt
from respeed.speedup.turns import MOST_ROUNDS, Measured, Run, Runner, Side, measure_rounds
from tests.signals import hear_all

NOISE = (1.0, 1.01, 0.99, 1.02, 0.98, 1.0)
FAST, SLOW = "sleep 0.02", "sleep 0.1"
TIMED = "sh -c 'echo 1'", "--over", "sh -c 'echo 2 1>&2'"
Given = Callable[..., None]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(doubt, "bind", lambda cpus: None)
    monkeypatch.setattr(doubt, "machine_lock", lambda wait, say: contextlib.nullcontext())


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    """Gives commands their seconds: of the first, the second and the start-up; of the control, the ratio."""

    def give(*seconds: Sequence[float], rounds: int = len(NOISE), foreign: float = 0.0, **ended: Any) -> None:
        left = [list(times) for times in seconds]

        def measure(sides: Sequence[Side], runner: Runner, budget_seconds: float) -> Measured:
            levels = left.pop(0)
            # The control comes last.
            levels = [*levels[:2], *levels[3:], levels[2] * levels[sides[-1].command != sides[0].command]]
            for side, level in zip(sides, levels, strict=True):
                side.seconds = [level * noise for noise in NOISE[:rounds]]
            return Measured(rounds, 12.0, foreign, **ended)

        monkeypatch.setattr(doubt, "measure_rounds", measure)

    return give


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit code, and all that is said."""
    code = main(["speedup", *words])
    told = capsys.readouterr()
    return code, told.out + told.err


def measure(capsys: pytest.CaptureFixture[str], *words: str, minutes: float = 0.04) -> tuple[int, dict[str, Any]]:
    """The exit code, and the only answer."""
    code, text = ask(capsys, *words, "--json", "--minutes", str(minutes))
    (answer,) = json.loads(text)["answers"]
    return code, answer


@pytest.mark.parametrize(
    ("published", "verdict", "code"),
    [
        ("4x", "4.00x (3.91x to 4.09x): reproduced (published 4x, off by up to 10 %)", 0),
        ("~4.3", "4.00x (3.91x to 4.09x): reproduced (published 4.3x, off by up to 10 %)", 0),
        ("60x", "4.00x (3.91x to 4.09x): smaller (published 60x, off by up to 10 %)", 1),
        ("2.5", "4.00x (3.91x to 4.09x): larger (published 2.5x, off by up to 10 %)", 0),
        (None, "4.00x (3.91x to 4.09x); nothing is published (--published)", 0),
    ],
)
def test_a_ratio_is_judged_by_what_is_published(
    published: str | None, verdict: str, code: int, given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given((0.5, 2.0, 1.0))
    ended, text = ask(capsys, *TIMED, *(["--published", published] if published else []))
    lines = text.splitlines()
    assert (ended, lines[0]) == (code, verdict)
    assert lines[3].startswith("sh -c 'echo 1'       500 ms ±")
    assert lines[4].startswith("sh -c 'echo 2 1>&2'  2.00 s ±")
    assert lines[6].startswith("6 rounds in turns, 12 s; the quicker one over itself: 1.00x (0.9")


def test_a_tolerance_is_the_users(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    for tolerance, code in (("30", 0), ("20", 1)):
        given((0.5, 2.0, 1.0))
        assert ask(capsys, *TIMED, "--published", "5.2x", "--tolerance", tolerance)[0] == code


def test_a_few_rounds_say_how_many_minutes_it_takes(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given((0.5, 2.0, 1.0), rounds=1)
    code, text = ask(capsys, *TIMED, "--published", "4x")
    assert code == 75
    assert text.startswith("4.00x (no interval): not settled (published 4x, off by up to 10 %)\n")
    assert "note: an interval needs 3 rounds (--minutes 0.80)" in text


def test_an_open_verdict_says_how_much_longer(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given((0.5, 2.0, 1.0), rounds=3)
    code, text = ask(capsys, *TIMED, "--published", "4.1x")
    assert (code, ": reproduced" in text) == (0, True)
    given((0.5, 2.0, 1.0), rounds=2)
    assert ask(capsys, *TIMED, "--published", "4.1x")[0] == 75


@pytest.mark.parametrize("control", [0.9, 1.1])
def test_a_control_that_is_off_leaves_nothing_to_judge(
    control: float, given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given((0.5, 2.0, control))
    code, text = ask(capsys, *TIMED, "--published", "60x")
    assert (code, ": not judged (published 60x" in text) == (75, True)
    assert "note: one command over itself should be 1: this machine is too disturbed to tell" in text


def test_what_ended_early_is_said_and_not_judged(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    given((0.5, 2.0, 1.0), trouble="sh ended with 3 (no room) in round 7")
    code, text = ask(capsys, *TIMED, "--published", "4x")
    assert (code, ": not judged (" in text) == (2, True)
    assert "note: sh ended with 3 (no room) in round 7" in text
    given((0.5, 2.0, 1.0), rounds=0, trouble="sh ended with 3 (no room) in round 1")
    code, text = ask(capsys, *TIMED, "--published", "4x")
    assert (code, text.startswith("not measured: not judged")) == (2, True)


def test_a_startup_is_shown_and_subtracted_only_if_asked(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    words = *TIMED, "--startup", "true"
    given((0.5, 2.0, 1.0, 0.4))
    said = ask(capsys, *words)[1]
    assert said.startswith("4.00x (")
    line = "note: start-up alone is 80 % of the time of sh -c 'echo 1'"
    assert f"{line}; without it 16.0x (--without-startup)\n" in said
    given((0.5, 2.0, 1.0, 0.4))
    said = ask(capsys, *words, "--without-startup")[1]
    assert said.startswith("16.0x (")
    assert f"{line}, and is subtracted\n" in said
    given((0.5, 2.0, 1.0, 0.6))
    assert f"{line.replace('80', '120')}\n" in ask(capsys, *words)[1]
    given((0.5, 2.0, 1.0, 0.6))
    refusal = "respeed: --without-startup: sh -c 'echo 1' takes no longer than its start-up\n"
    assert ask(capsys, *words, "--without-startup") == (2, refusal)


def test_each_value_has_a_line_and_growth_a_verdict(given: Given, capsys: pytest.CaptureFixture[str]) -> None:
    words = "echo {n}", "--over", "echo {n} {n}", "--published", "2x", "--parameter-list", "n", "8,64"
    given((0.5, 1.0, 1.0), (0.5, 2.0, 1.0), foreign=0.3)
    code, text = ask(capsys, *words)
    assert code == 0
    assert re.fullmatch(
        r"n 8: 2\.00x \(.*\): reproduced .*\nnote: results differ: .*\nnote: other programs kept 0\.30 cores .*\n"
        r"n 64: 4\.00x \(.*\): larger .*\nnote: results differ: .*\nnote: other programs kept 0\.30 cores .*\n"
        r"from value to value it grows: reproduced\n",
        text,
    )
    given((0.5, 2.0, 1.0), (0.5, 1.0, 1.0))
    assert ask(capsys, *words)[1].endswith("it grows: trend not reproduced\n")
    given((0.5, 1.0, 1.0), (0.5, 2.0, 1.1))
    assert ask(capsys, *words)[1].endswith("it grows: not judged\n")
    given((0.5, 1.0, 1.0), (0.5, 2.0, 1.0))
    answers = json.loads(ask(capsys, *words, "--json")[1])["answers"]
    commands = [side["command"] for answer in answers for side in answer["sides"]]
    assert commands == ["echo 8", "echo 8 8", "echo 64", "echo 64 64"]


def test_a_review_has_the_claim_the_place_and_the_command(
    given: Given, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["respeed", "speedup", FAST])
    given((0.5, 2.0, 1.0))
    first, found, where = ask(capsys, *TIMED, "--published", "4x", "--markdown")[1].splitlines()
    assert first == "`sh -c 'echo 1'` over `sh -c 'echo 2 1>&2'`:"
    assert re.match(r"\*\*4\.00x \(.*\): reproduced \(published 4x, off by up to 10 %\)\*\*\. results differ", found)
    assert found.endswith(" 6 rounds in turns, 12 s.")
    assert where.endswith("by `respeed speedup 'sleep 0.02'`.")


@pytest.mark.parametrize(
    ("check", "row", "base", "is_same"),
    [
        ("same", "echo 1", "echo 1", True), ("same", "echo 1", "echo 2", False), ("", "echo 1", "echo 2", True),
        ("out", "sh -c 'echo 1 > out'", "sh -c 'echo 1 > out'", True),
        ("out", "sh -c 'echo 1 > out'", "sh -c 'echo 2 > out'", False),
    ],
)  # fmt: skip
def test_results_that_differ_are_not_judged(
    check: str, row: str, base: str, is_same: bool, given: Given, capsys: pytest.CaptureFixture[str]
) -> None:
    given((0.5, 2.0, 1.0))
    words = ["--check", check] if check else []
    code, text = ask(capsys, row, "--over", base, "--published", "4x", *words)
    assert code == (0 if is_same else 1)
    assert (f"results differ: {'out' if check == 'out' else 'standard output'} is not the same" in text) == (
        row != base
    )


def test_real_commands_take_turns_in_rounds(capsys: pytest.CaptureFixture[str]) -> None:
    answer = measure(capsys, FAST, "--over", SLOW, "--published", "60x", minutes=0.08)[1]
    assert answer["verdict"] in {"smaller", "not settled"}  # as busy as this machine is
    row, base = answer["sides"]
    assert len(row["seconds"]) == len(base["seconds"]) == answer["rounds"] > 1
    assert 1 < answer["ratio"]["value"] < 7


def test_first_runs_are_the_round_if_no_other_fits(capsys: pytest.CaptureFixture[str]) -> None:
    """The budget has the first runs in it: together they take more than half of it."""
    row, base = (f"sh -c 'echo {seconds} >> log; sleep {seconds}'" for seconds in (0.3, 0.6))
    answer = measure(capsys, row, "--over", base, minutes=0.03)[1]
    assert Path("log").read_text().split() == ["0.3", "0.6"]
    assert (answer["rounds"], answer["ratio"]["low"], answer["control"]["value"]) == (1, None, None)
    assert 1 < answer["ratio"]["value"] < 3


def test_each_round_has_an_order_of_its_own() -> None:
    """Each of three commands is in each place of some round; of commands that take no time, there are most rounds."""
    order = list[str]()

    class Noting:
        def run(self, command: str) -> Run:
            order.append(command)
            return Run(0.3, 0.3, 0.1)

    sides = [Side(name, Run(0.3, 0.3, 0.1), "", 1, []) for name in "abc"]
    measured = measure_rounds(sides, cast(Runner, Noting()), 1.0)
    assert (measured.rounds, len(order)) == (MOST_ROUNDS, 3 * MOST_ROUNDS)
    rounds = [order[place : place + 3] for place in range(0, len(order), 3)]
    assert {*map("".join, map(sorted, rounds))} == {"abc"}
    assert {*map("".join, rounds)} == {*map("".join, itertools.permutations("abc"))}


def test_a_command_that_fails_ends_the_rounds(capsys: pytest.CaptureFixture[str]) -> None:
    once = "sh -c 'test -e seen && { echo one >&2; echo no room >&2; exit 3; }; touch seen'"
    code, answer = measure(capsys, once, "--over", SLOW, "--published", "9x")
    assert (code, answer["verdict"], answer["rounds"]) == (2, "not judged", 0)
    assert f"{once} ended with 3 (no room) in round 1" in answer["notes"]
    code, text = ask(capsys, "sh -c 'exit 4'", "--over", SLOW)
    line = "respeed: sh -c 'exit 4' ended with 4 (it says nothing) in its first run; nothing was measured\n"
    assert (code, text) == (2, line)
    assert measure(capsys, "sh -c 'exit 4'", "--over", SLOW, "--ignore-failure")[0] == 0


def test_a_program_may_print_its_own_time(capsys: pytest.CaptureFixture[str]) -> None:
    words = "sh -c 'echo took 0.5 s'", "--over", "sh -c 'echo took 2.0 s >&2'", "--time-pattern"
    assert measure(capsys, *words, "took ([0-9.]+)", minutes=0.02)[1]["ratio"]["value"] == pytest.approx(4)
    code, text = ask(capsys, *words, "gone ([0-9.]+)")
    assert (code, text) == (2, "respeed: --time-pattern: finds no seconds in what sh -c 'echo took 0.5 s' prints\n")


def test_setup_runs_once_and_prepare_before_each_run(capsys: pytest.CaptureFixture[str]) -> None:
    def noting(word: str) -> str:
        return f"sh -c 'echo {word} >> log; sleep 0.2'"

    words = ["--setup", noting("setup"), "--prepare", "sh -c 'echo prepare >> log'", "--warmup", "1"]
    answer = measure(capsys, noting("row"), "--over", noting("base"), *words, minutes=0.05)[1]
    setup, *others = Path("log").read_text().split()
    assert (setup, {*others[::2]}) == ("setup", {"prepare"})
    assert others[1:9:2] == ["row", "row", "base", "base"]  # a first run and a warm-up of each
    assert len(others[1::2]) == 4 + 3 * answer["rounds"]  # the quicker one twice


def test_commands_read_nothing_from_standard_input(capsys: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"typed before\n" * 100)
    kept = os.dup(0)
    os.dup2(reading, 0)
    os.close(writing)
    try:
        code, answer = measure(capsys, "sh -c 'sleep 0.1; test -z \"$(cat)\"'", "--over", SLOW)
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(reading)
    assert (code, answer["trouble"]) == (0, "")


def test_nothing_outlives_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    code, answer = measure(capsys, "sh -c 'sleep 1000 & echo $! >> pids'", "--over", SLOW)
    assert (code, answer["rounds"] > 0) == (0, True)
    for pid in Path("pids").read_text().split():
        stat = Path(f"/proc/{pid}/stat")
        end = time.monotonic() + 20
        while stat.exists() and stat.read_text().split()[2] != "Z":
            assert time.monotonic() < end, f"{pid} lives"
            time.sleep(0.01)


def test_what_a_command_uses_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    two = "import threading, time; [threading.Thread(target=time.sleep, args=[.3]).start() for _ in '12']"
    busy = "import time\nwhile time.process_time() < .3: pass"
    row, base = (f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}" for code in (two, busy))
    row, base = measure(capsys, row, "--over", base)[1]["sides"]
    assert (row["threads"], base["threads"]) == (3, 1)
    assert row["cores"] < base["cores"] < 1.1


def test_much_output_and_pipes_are_no_obstacle(capsys: pytest.CaptureFixture[str]) -> None:
    words = "head -c 100000000 /dev/zero", "--over", "head -c 100000000 /dev/zero | cat", "--shell"
    code, answer = measure(capsys, *words, "--check", "same")
    assert (code, answer["is_trusted"] or bool(answer["notes"])) == (code, True)
    assert not any("differ" in note for note in answer["notes"])


@pytest.mark.slow
def test_what_was_measured_is_shown_when_stopped() -> None:
    command = [sys.executable, "-m", "respeed.cli", "speedup", "sleep 0.1", "--over", "sleep 0.2", "--published", "2x"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=hear_all
    ) as process:
        time.sleep(10)
        os.killpg(process.pid, signal.SIGINT)
        text, _ = process.communicate(timeout=60)
    assert re.match(r"[12]\.[0-9]+x \(.*\): not judged", text)
    assert re.search("note: it was stopped in round [0-9]+\n", text)
    assert process.returncode == 75


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["", "--over", "true"], "speedup: run: must be a command, not ''"),
        (["true", "--over", "'a"], "speedup: over: 'a: no closing quotation"),
        (["none-such", "--over", "true"], "none-such: cannot be run: No such file or directory"),
        (["~/ours | cat", "--over", "true"],
         "~/ours: cannot be run: No such file or directory; for pipes, variables and ~ add --shell"),
        (["true", "--over", "true", "--cores", "0"], "speedup: cores: must be greater than or equal to 1, not 0"),
        (["true", "--over", "true", "--without-startup"], "--without-startup: needs --startup COMMAND"),
        (["true", "--over", "true", "--parameter-list", "n", "1,2"], "--parameter-list: neither command has {n}"),
        (["true", "--over", "true", "--time-pattern", "("], "time_pattern: '(' is no regular expression: missing )"),
        (["true", "--over", "true", "--check", "gone"], "--check: gone: cannot be read after a command ran: No such"),
        (["true", "--over", "true", "--published", "fast"], "'fast' is no factor; write it as 60x or 1.9x"),
        (["true", "--over", "true", "--minutes", "0"], "speedup: minutes: must be greater than 0, not 0"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = ask(capsys, *words)
    (told,) = text.splitlines()
    assert (code, line in told) == (2, True), told
