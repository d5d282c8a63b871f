"""The command line: build the parser, import the command's function, and print a user's mistake in one line."""

import argparse
import gc
import importlib.metadata
import io
import os
import pkgutil
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from respeed.errors import RESUMES, UserError, nearest, tell
from respeed.machine.process import interrupt_when_stopped
from respeed.paths import ROOT, is_study
from respeed.text import escape_unprintable

# Seconds of each unit of a duration; 0 needs none.
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(s|min|h)|0")
# The kinds of files that people write.
KINDS = ("paper", "workload", "hardware", "machine", "backend")
# The parts of a report, in the order in which they are built.
PARTS = ("tables", "figures", "pdf")


class Screen(io.TextIOWrapper):
    """A standard stream on which what a terminal would obey, such as an escape sequence in a name, becomes letters."""

    def write(self, text: str) -> int:
        """Write a text; its line breaks and tabs stay, and a carriage return that is written alone."""
        super().write(text if text == "\r" else escape_unprintable(text, keep="\n\t"))
        return len(text)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code.

    The code is 0 if all is well, 1 if the command found a fault, 130 if it was interrupted, and 2 after a mistake of
    the user or an error of the system, which is printed in one line. Without `arguments`, this process's own are used,
    and signals interrupt the command.
    """
    if arguments is None:
        # What a command makes lives about as long as it does: to look for garbage often takes a tenth of its time.
        gc.set_threshold(100_000)
        interrupt_when_stopped()
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if isinstance(stream, io.TextIOWrapper):  # it may be closed
                # Letters that the encoding lacks become escapes too.
                screen = Screen(
                    stream.buffer, stream.encoding, "backslashreplace", line_buffering=stream.line_buffering
                )
                setattr(sys, name, screen)
    try:
        options = vars(build_parser().parse_args(arguments))
        command = pkgutil.resolve_name(f"respeed.{options.pop('function')}")
        for folder in Path.cwd().parents:
            if folder == ROOT or is_study(folder):
                tell(f"results are those in {Path.cwd()}, not those in {folder}")
        code = command(**options)
        print(end="", flush=True)  # there is no stdout if it was closed
    except BrokenPipeError:
        # The reader has seen enough, such as `head`.
        _discard_stdout()
        return 0
    except KeyboardInterrupt:
        tell(f"stopped; what was measured is kept, and {RESUMES}")
        return 130
    except (UserError, OSError) as error:
        tell(error)
        if isinstance(error, OSError):
            _discard_stdout()
        return 2
    return code or 0


def _discard_stdout() -> None:
    """Discard the output that is still buffered, so that writing it does not fail again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one line, with the nearest allowed word and without the usage."""

    def error(self, message: str) -> NoReturn:
        """Raise UserError; its text is the name of the command and then the message."""
        command = self.prog.removeprefix("respeed").strip()
        raise UserError(f"{command}: {message}" if command else message)

    def _check_value(self, action: argparse.Action, value: str) -> None:
        if action.choices is not None and value not in action.choices:
            self.error(f"no {str(action.metavar).lower()} {value!r}{nearest(value, action.choices)}")


Argument = tuple[str, dict[str, Any]]


class Command(NamedTuple):
    """A command: the function that runs it ("module:function"), its help, an example, and its arguments."""

    function: str
    help: str
    example: str
    arguments: tuple[Argument, ...] = ()


def argument(name: str, metavar: str | tuple[str, str], text: str, **options: Any) -> Argument:
    """Return an argument that takes a value, with its name for the value, its help text, and argparse's options."""
    return name, {"metavar": metavar, "help": text, **options}


def parse_moment(text: str) -> str:
    """Return a moment, or "now", in UTC as records have it."""
    try:
        moment = datetime.now(UTC) if text == "now" else datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        line = f"{text!r} is no moment; write it as 2026-11-28T10:15, in UTC"
        raise argparse.ArgumentTypeError(line) from None


def parse_duration(text: str) -> float:
    """Return the seconds of "90 s", "15min", "1.5 h" or "0"."""
    duration = _DURATION.fullmatch(text.strip())
    if duration is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write it as 90s, 15min or 1.5h")
    return float(duration[1] or 0) * _UNITS[duration[2] or "s"]


def parse_factor(text: str) -> float:
    """Return the number of "60x" or "1.9"."""
    factor = re.fullmatch(r"~?([0-9]+(?:\.[0-9]+)?)x?", text.strip())
    if factor is None or not float(factor[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no factor; write it as 60x or 1.9x")
    return float(factor[1])


MACHINE = argument("--machine", "NAME", "the name of its records (default: this machine's)")
MANY: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
JSON = "--json", {"action": "store_true", "dest": "as_json", "help": "print one JSON document, and nothing else"}
SMOKE = "--smoke", {"action": "store_true", "help": "take the smoke records, whose times mean nothing"}
CONFIG = argument(
    "--config", "KEY=VALUE", "settings that replace those of config.yaml, such as preset=smoke",
    **MANY | {"nargs": "*"},
)  # fmt: skip

COMMANDS = {
    "measure": Command(
        "commands:measure", "measure the cells that config.yaml asks for and that are not measured yet",
        "measure --only rbm/4096x11008 --profiles torch-all --rounds 3",
        (
            argument(
                "--budget", "TIME", "begin nothing that would end after this time, such as 15min", type=parse_duration
            ),
            argument(
                "--wait", "TIME",
                "how long to wait while something else is measured here: 0, 90s, 1.5h (default: until it is done)",
                type=parse_duration,
            ),
            argument("--only", "WORD", "only cells with this in PAPER/TABLE/CASE", **MANY),
            argument("--profiles", "NAME", "only these rows", **MANY),
            argument("--rounds", "NUMBER", "until each cell has this many rounds", type=int),
            argument(
                "--again", "SINCE",
                "measure anew: what was measured before now, or before the moment SINCE, does not count as measured",
                type=parse_moment, nargs="?", const="now",
            ),
            ("--stamp", {"type": Path, "help": argparse.SUPPRESS}),
            ("--log", {"type": Path, "help": "also write the lines on the screen into this file"}),
            CONFIG,
        ),
    ),
    "report": Command(
        "commands:make_report", "build tables, figures and the PDF from the records", "report --only tables",
        (
            argument("--only", "PART", f"build only this: {', '.join(PARTS)}", choices=PARTS),
            ("--review", {
                "dest": "only", "action": "store_const", "const": "review",
                "help": "build only report/REVIEW.md, for a reviewer: claims, machine, steps, and what is missing",
            }),
            MACHINE,
            argument("--show", "NAME", "the machines to show: names, this or all (default: config.yaml's)", **MANY),
            argument("--papers", "NAME", "the papers to show (default: config.yaml's)", nargs="*", action="extend"),
            SMOKE,
        ),
    ),
    "status": Command(
        "commands:show_status", "show how much is measured, and what a run would measure",
        "status --config papers=all",
        (
            argument("--machine", "NAME", "show these machines, or all (default: config.yaml's)", **MANY),
            SMOKE, CONFIG, JSON,
        ),
    ),
    "claims": Command(
        "commands:show_claims", "show the claims of papers, and whether they hold", "claims --machine my-laptop",
        (
            MACHINE,
            SMOKE, JSON,
        ),
    ),
    "trace": Command(
        "commands:show_trace", "show how a number was made, down to the lines of its records",
        "trace rbm/4096x11008 torch-all",
        (
            argument("cell", "CELL", "TABLE/CASE or PAPER/TABLE/CASE"),
            argument("profile", "PROFILE", "the row, by its hardware profile"),
            MACHINE, SMOKE, JSON,
        ),
    ),
    "speedup": Command(
        "speedup.words:measure_speedup", "time two commands in turns, and judge how many times as fast one is",
        "speedup 'pigz -kc log' --over 'gzip -kc log' --published 1.9x",
        (
            argument("run", "COMMAND", "the command that is said to be faster, as one word in quotes", nargs="?"),
            argument("--over", "COMMAND", "the command that it is compared with"),
            argument("--published", "FACTOR", "how many times as fast it is said to be: 60x", type=parse_factor),
            argument("--tolerance", "PERCENT", "how far the published number may be off (default: 10)", type=float),
            argument("--minutes", "MINUTES", "how long to measure at most (default: 1)", type=float),
            argument("--cores", "NUMBER", "let both use so many cores (default: all)", type=int),
            argument("--warmup", "NUMBER", "runs before those that count, besides the first", type=int),
            argument("--setup", "COMMAND", "run this once, before all others"),
            argument("--prepare", "COMMAND", "run this before each run, such as to empty a cache"),
            argument("--startup", "COMMAND", "a command that does nothing but start, such as 'python -c pass'"),
            ("--without-startup", {"action": "store_true", "help": "subtract what --startup takes from both"}),
            argument(
                "--time-pattern", "PATTERN", "take the seconds that both print: a regular expression with one group"
            ),
            argument("--check", "FILE", "both must write the same to this file; same: to standard output"),
            argument(
                "--parameter-list", ("NAME", "VALUES"), "measure at each of these values, such as n 256,1024: {n}",
                nargs=2, dest="parameter",
            ),
            argument("--claims", "FILE", "measure the claims in this file: sentences with two commands", type=Path),
            argument("--allow", "CHECKSUM", "run the commands of --claims, whose file has this checksum"),
            argument("--history", "FILE", "show earlier ratios, and add the new ones to this file", type=Path),
            ("--shell", {"action": "store_true", "help": "run the commands by /bin/sh"}),
            ("--ignore-failure", {"action": "store_true", "help": "take exit codes other than 0"}),
            ("--markdown", {
                "action": "store_true", "dest": "as_markdown", "help": "print a paragraph for a review"
            }),
            JSON,
        ),
    ),
    "sessions": Command(
        "commands:show_sessions", "show when this machine was measured, and set a spoiled session aside",
        "sessions --set-aside 2026-11-28T10:15",
        (
            MACHINE,
            argument("--set-aside", "SESSION", "count nothing of this session; nothing is deleted"),
            argument("--take-back", "SESSION", "count a session that was set aside again"),
            SMOKE,
        ),
    ),
    "doctor": Command(
        "doctor:examine", "show what this machine has, how fast it is, what it can run, what disturbs it", "doctor",
        (JSON,),
    ),
    "check": Command(
        "files:check", "list every mistake in the files that people write, and in records", "check records.zip",
        (
            argument(
                "path", "PATH",
                "check only this: a paper's folder, claims.yaml, a folder of records, or a file that `export` wrote",
                nargs="?", type=Path,
            ),
            argument("--show", "PAPER", "print a paper's tables, speedups and claims, to proofread them"),
        ),
    ),
    "init": Command(
        "files:write_study", "make a folder for a study of your own, with config.yaml, papers, rows and records",
        "init my-study",
        (argument("folder", "FOLDER", "the folder to make", type=Path),),
    ),
    "new": Command(
        "files:write_starter", "write a commented file to start from", "new hardware my-gpu",
        (
            argument("kind", "KIND", ", ".join(KINDS), choices=KINDS),
            argument("name", "NAME", "its name, and that of its file or folder; of a paper, or the path of its folder"),
        ),
    ),
    "export": Command(
        "exchange:export_records", "write records to one file, to take them elsewhere", "export records.zip",
        (
            argument("file", "FILE", "the file to write", type=Path),
            argument("--machine", "NAME", "only the records of this machine (default: of all)"),
            SMOKE,
        ),
    ),
    "import": Command(
        "exchange:import_records", "add records of another machine", "import records.zip --as lab",
        (
            argument("path", "PATH", "a file that `export` wrote, or a machine's folder", type=Path),
            argument("--as", "NAME", "the name that the machine gets here", dest="name"),
            argument("--into", "NAME", "join the records of this machine here, as more of the same machine"),
            SMOKE,
        ),
    ),
}  # fmt: skip


def build_parser() -> Parser:
    """Build the parser of all commands.

    A command's module is imported only when the command runs, so that `respeed measure` does not load Seaborn, and
    `respeed check` does not load pandas.
    """
    parser = Parser(prog="respeed", description="Published speedup tables, re-run on your hardware.")
    parser.add_argument("--version", action="version", version=f"respeed {importlib.metadata.version('respeed')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", help="respeed COMMAND --help explains one")
    for name, (function, text, example, arguments) in COMMANDS.items():
        command = commands.add_parser(name, help=text, epilog=f"Example: respeed {example}")
        command.set_defaults(function=function)
        for flag, options in arguments:
            command.add_argument(flag, **options)
    return parser


if __name__ == "__main__":
    sys.exit(main())
