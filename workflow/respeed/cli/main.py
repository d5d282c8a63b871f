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


_SMOKE = _smoke("of the smoke records, which are no measurement")
_WAIT = _takes(
    "--wait",
    metavar="TIME",
    help="how long to wait for another measurement on this machine: 0, 90s, 1.5h (default: until it is done)",
)
_SHOWN = (
    _smoke("of the smoke records, stamped as no measurement"),
    _takes("--machine", help="of many machines, the one to show in full (default: this one; a few are all shown so)"),
    _takes("--papers", nargs="*", metavar="NAME", help="with or without records (default: those of config.yaml)"),
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
        "measure what config.yaml asks for and records do not have, turn after turn",
        _takes("--budget", metavar="TIME", help="begin nothing that would end later: 90s, 15min, 1.5h"),
        _WAIT,
        _takes("--session", type=Path, help="a file to write when nothing is left, which says what was done"),
        _takes("--log", type=Path, help="a file that what is said on the screen goes to as well"),
        _takes(
            "--another-session",
            action="store_true",
            help="everything as often again, for what a machine's days differ by: another day, or after a restart",
        ),
        _takes(
            "--report",
            action="store_true",
            help="make tables, figures and PDF as soon as there is a first table, now and then, and at the end",
        ),
        _takes("--bundle", metavar="FILE", type=Path, help="pack the records into this file after each turn"),
        _config("settings in place of config.yaml's"),
    ),
    "status": _command(
        "cli.results:show_status",
        "say of every machine and table what is measured, and what a run would measure next",
        _smoke("of the smoke preset, whatever config.yaml says"),
        _takes("--all", dest="every_cell", action="store_true", help="a line a cell, with what is missing"),
        _takes("--machine", nargs="+", default=[], metavar="NAME", help="of these alone (default: all)"),
        _config("papers, experiments, profiles, ... as of a run"),
    ),
    "claims": _command(
        "cli.results:show_claims",
        "say what each paper claims, and whether it holds on this machine",
        _SMOKE,
        _takes("--machine", help="of another machine that has records (default: this one)"),
    ),
    "export": _command(
        "cli.records:export_records",
        "write records to one file, to take them elsewhere",
        _takes("file", metavar="FILE", type=Path, help="the bundle to write, such as records.zip"),
        _takes("--machine", metavar="NAME", help="only this machine's (default: those of all)"),
        _SMOKE,
    ),
    "import": _command(
        "cli.records:import_records",
        "add records that somebody exported, or that lie in a folder",
        _takes("path", metavar="FILE|FOLDER", type=Path, help="a bundle, or a machine's folder of records"),
        _takes("--as", dest="name", metavar="NAME", help="what the machine is to be called here"),
        _SMOKE,
    ),
    "verify": _command(
        "cli.records:verify_records",
        "say whether records are as they were written, and lie where they belong",
        _takes(
            "path",
            metavar="PATH",
            type=Path,
            nargs="?",
            help="a folder, a record or a bundle (default: results/records)",
        ),
        _smoke("by default those in results/smoke"),
    ),
    "rename": _command(
        "cli.records:rename",
        "give a machine another name, or a second one in its folder a name of its own",
        _takes("old", metavar="OLD", help="the machine's name so far"),
        _takes(
            "new",
            metavar="NEW",
            help="a name without records; or OLD once more, if you renamed or copied its folder by hand",
        ),
        _takes("--left-out", action="store_true", help="only records that were made on other hardware"),
        _smoke("of the smoke records, in results/smoke"),
    ),
    "new": _command(
        "cli.records:write_starter",
        "write a commented file to start from: a paper, a workload, a hardware profile, a machine or a backend",
        _takes("kind", help="paper, workload, hardware, machine or backend"),
        _takes("name", metavar="NAME", help="what it is to be called; its file or folder gets this name"),
    ),
    "check": _command(
        "cli.records:check_files",
        "say every mistake in config.yaml, the hardware profiles, the papers and workflow/machines",
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
        "measure in a minute what this machine reaches: rates, memory, latencies, scaling",
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
