"""Entry point: one subcommand a verb, a user's mistake is one line and exit code 2."""

import argparse
import importlib
import io
import os
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from respeed.errors import UserError, nearest, refusal_anywhere
from respeed.schedule.signals import end_when_stopped

# Names of an argument, and what argparse is told of it.
Argument = tuple[tuple[str, ...], dict[str, Any]]


@dataclass(frozen=True)
class Command:
    """`runs` is the function that is called with the arguments by their names, as "module:function": it is imported
    only then, since `respeed measure` must not pay for pandas. What it gives, if not None, is the exit code."""

    runs: str
    says: str
    arguments: tuple[Argument, ...]


def _command(runs: str, says: str, *arguments: Argument) -> Command:
    return Command(runs, says, arguments)


def _takes(*names: str, **facts: Any) -> Argument:
    return names, facts


def _smoke(text: str) -> Argument:
    return _takes("--smoke", action="store_true", help=text)


def _config(text: str) -> Argument:
    return _takes("--config", nargs="*", default=[], metavar="KEY=VALUE", help=text)


_SMOKE = _smoke("take the smoke records, whose times mean nothing")
_WAIT = _takes(
    "--wait",
    metavar="TIME",
    help="how long to wait if something else is measured on this machine: 0, 90s, 1.5h (default: until that is done)",
)
_SHOWN = (
    _smoke("of the smoke records, stamped as no measurement"),
    _takes("--machine", help="which of many machines to show in full (default: this one; a few are all shown so)"),
    _takes("--papers", nargs="*", metavar="NAME", help="papers to show, measured or not (default: config.yaml's)"),
)

FOR_PEOPLE = {
    "doctor": _command(
        "cli.machine:examine", "say whether this machine is fit to measure now, and what to do about it"
    ),
    "hardware": _command(
        "cli.machine:show_hardware", "say what this machine is, which profiles apply and why the others do not"
    ),
    "measure": _command(
        "cli.measure:measure",
        "measure what config.yaml asks for and has not been measured yet",
        _takes("--budget", metavar="TIME", help="how long it may take, such as 15min; begins nothing that ends later"),
        _WAIT,
        _takes("--session", type=Path, help="when nothing is left to measure, write into this file what was done"),
        _takes("--log", type=Path, help="also write into this file what is said on the screen"),
        _takes(
            "--another-session",
            action="store_true",
            help="measure everything as often again: on another day the machine may be faster or slower",
        ),
        _takes(
            "--report",
            action="store_true",
            help="make tables, figures and the PDF meanwhile: after the first table, now and then, at the end",
        ),
        _takes("--bundle", metavar="FILE", type=Path, help="pack the records into this file after each turn"),
        _config("settings that replace those of config.yaml, such as preset=smoke"),
    ),
    "status": _command(
        "cli.results:show_status",
        "show how much of each table is measured on each machine, and what a run would measure next",
        _smoke("of the preset smoke, whatever config.yaml says"),
        _takes("--all", dest="every_cell", action="store_true", help="show a line for each cell, with what is missing"),
        _takes("--machine", nargs="+", default=[], metavar="NAME", help="show these machines alone (default: all)"),
        _config("what a run would be asked for: papers=..., experiments=..., profiles=..."),
    ),
    "claims": _command(
        "cli.results:show_claims",
        "say what each paper claims, and whether it holds on this machine",
        _SMOKE,
        _takes("--machine", help="of this machine, by the name of its records (default: the one you are on)"),
    ),
    "export": _command(
        "cli.records:export_records",
        "write records to one file, to take them elsewhere",
        _takes("file", metavar="FILE", type=Path, help="the bundle to write, such as records.zip"),
        _takes("--machine", metavar="NAME", help="only the records of this machine (default: of all)"),
        _SMOKE,
    ),
    "import": _command(
        "cli.records:import_records",
        "add records of another machine, from a file that `export` wrote or from a folder",
        _takes("path", metavar="FILE|FOLDER", type=Path, help="a file that `export` wrote, or a machine's folder"),
        _takes("--as", dest="name", metavar="NAME", help="the name that the machine gets here"),
        _SMOKE,
    ),
    "verify": _command(
        "cli.records:verify_records",
        "check that records were not changed since they were written, and lie where they belong",
        _takes(
            "path",
            metavar="PATH",
            type=Path,
            nargs="?",
            help="a folder, a record, or a file that `export` wrote (default: results/records)",
        ),
        _smoke("without PATH: check those in results/smoke"),
    ),
    "rename": _command(
        "cli.records:rename",
        "give a machine another name; or give records of a second machine in its folder their own name",
        _takes("old", metavar="OLD", help="the name that the machine has now"),
        _takes("new", metavar="NEW", help="its new name; or OLD again, if you renamed or copied the folder by hand"),
        _takes(
            "--left-out", action="store_true", help="only the records that were made on other hardware than the rest"
        ),
        _smoke("rename the smoke records, in results/smoke"),
    ),
    "new": _command(
        "cli.records:write_starter",
        "write a commented file to start from: a paper, a workload, a hardware profile, a machine or a backend",
        _takes("kind", help="paper, workload, hardware, machine or backend"),
        _takes("name", metavar="NAME", help="its name, which its file or folder gets, too"),
    ),
    "check": _command(
        "cli.records:check_files",
        "list every mistake in config.yaml, hardware profiles, papers and workflow/machines",
    ),
}
FOR_RULES = {
    "describe": _command(
        "cli.measure:describe",
        "write what this machine is, and which profiles it cannot run",
        _takes("path", type=Path, help="results/records/<machine>/machine.json"),
    ),
    "probe": _command(
        "backends:probe",
        "say whether a backend can use a device, for all precisions, in a line of JSON",
        _takes("backend", help="such as torch"),
        _takes("device", help="such as cuda or cuda:1"),
    ),
    "gauge": _command(
        "cli.measure:gauge",
        "measure in 1 to 3 minutes what this machine reaches: rates, memory, latencies, scaling",
        _WAIT,
        _takes("path", type=Path, nargs="?", help="results/records/<machine>/hardware.json (default: this machine's)"),
    ),
    "learn": _command(
        "cli.measure:learn",
        "let an experiment's programs learn, to see what they learn and how fast",
        _WAIT,
        _takes("path", type=Path, help="results/records/<machine>/<paper>/<experiment>/learning.json"),
    ),
    "tables": _command("output:build_tables", "build the tables from the records that exist", *_SHOWN),
    "figures": _command("figures:build_figures", "draw the figures from the tables", *_SHOWN),
    "report": _command("cli.results:build_report", "build the report PDF from tables and figures", *_SHOWN),
}


# What people call some of them elsewhere.
MEANT = {"run": ("measure",), "validate": ("check",), "lint": ("check",), "list": ("status",), "info": ("hardware",)}


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code. Without arguments those of this process, which then ends kindly when
    it is stopped."""
    if arguments is None:
        end_when_stopped()
        for stream in (sys.stdout, sys.stderr):  # a terminal may have few letters: the others as escapes
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
    try:
        _check_command(sys.argv[1:] if arguments is None else arguments)
        options = vars(_parser().parse_args(arguments))
        module, _, function = (FOR_PEOPLE | FOR_RULES)[options.pop("command")].runs.partition(":")
        code = getattr(importlib.import_module(f"respeed.{module}"), function)(**options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read it has seen enough, such as `head`.
        _say_no_more()
        return 0
    except OSError as error:
        if (refused := refusal_anywhere(error)) is None:
            raise
        print(f"respeed: {refused}", file=sys.stderr)
        _say_no_more()
        return 2
    except UserError as error:
        print(f"respeed: {error}", file=sys.stderr)
        return 2
    return code or 0


def _say_no_more() -> None:
    """What was to be printed must not fail again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _check_command(words: list[str]) -> None:
    """UserError if the first word is no command: argparse would list them all, and guess none."""
    if words and not words[0].startswith("-") and words[0] not in FOR_PEOPLE | FOR_RULES:
        raise UserError(f"no command {words[0]!r}{nearest(words[0], [*FOR_PEOPLE, *FOR_RULES], MEANT)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="respeed",
        description="Published speedup tables, re-run on your hardware.",
        epilog=f"{_listed('commands', FOR_PEOPLE)}\n\n{_listed('called by the rules of a run', FOR_RULES)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command", help="respeed COMMAND --help")
    for name, command in (FOR_PEOPLE | FOR_RULES).items():
        one = commands.add_parser(name, description=command.says)
        for names, facts in command.arguments:
            one.add_argument(*names, **facts)
    return parser


def _listed(title: str, commands: Mapping[str, Command]) -> str:
    """The commands with what each does, as argparse would list them."""
    indent = " " * 13
    lines = [
        textwrap.fill(f"  {name:<11}{command.says}", 100, subsequent_indent=indent)
        for name, command in commands.items()
    ]
    return "\n".join([f"{title}:", *lines])


if __name__ == "__main__":
    sys.exit(main())
