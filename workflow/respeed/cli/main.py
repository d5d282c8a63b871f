"""The command line: build the parser, import the function behind the command, and turn a mistake into one line."""

import argparse
import importlib
import importlib.metadata
import io
import os
import sys
from pathlib import Path
from typing import NoReturn, TypeAlias

from respeed.errors import GOES_ON, UserError, nearest
from respeed.machine.process import interrupt_when_stopped

# What a report consists of, in the order in which it is built.
PARTS = ("tables", "figures", "pdf")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code: 0 if all is well, 1 if the command found something wrong, 2 for a
    mistake of the user, which is one line.

    Without `arguments` those of this process are taken, and signals interrupt it.
    """
    if arguments is None:
        interrupt_when_stopped()
        for stream in (sys.stdout, sys.stderr):  # a terminal may have few letters: the others as escapes
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
    try:
        options = vars(build_parser().parse_args(arguments))
        module, _, function = options.pop("function").partition(":")
        code = getattr(importlib.import_module(f"respeed.{module}"), function)(**options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read it has seen enough, such as `head`.
        _discard_stdout()
        return 0
    except KeyboardInterrupt:
        print(f"respeed: stopped; what was measured is kept, and {GOES_ON}", file=sys.stderr)
        return 130
    except UserError as error:
        print(f"respeed: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"respeed: {error}", file=sys.stderr)
        _discard_stdout()
        return 2
    return code or 0


def _discard_stdout() -> None:
    """Send what is still to be printed to nowhere, so that it does not fail again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes are one line: no usage before it, and the nearest of the words that are allowed."""

    def error(self, message: str) -> NoReturn:
        raise UserError(": ".join([*self.prog.split()[1:], message]))

    def _check_value(self, action: argparse.Action, value: str) -> None:
        if action.choices is not None and value not in action.choices:
            self.error(f"no {str(action.metavar).lower()} {value!r}{nearest(value, action.choices)}")


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
WAIT = "how long to wait while something else is measured here: 0, 90s, 1.5h (default: until it is done)"


def build_parser() -> Parser:
    """Build the parser of all commands; each names the function that runs it as "module:function", which is imported
    only then: `respeed measure` must not pay for pandas.
    """
    parser = Parser(prog="respeed", description="Published speedup tables, re-run on your hardware.")
    parser.add_argument("--version", action="version", version=f"respeed {importlib.metadata.version('respeed')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", help="respeed COMMAND --help says more")
    _add_measure(commands)
    _add_results(commands)
    _add_doctor_check_and_new(commands)
    _add_export_and_import(commands)
    _add_internal(commands)
    return parser


def _add_measure(commands: Commands) -> None:
    command = commands.add_parser(
        "measure",
        help="measure what config.yaml asks for and is not measured yet",
        epilog="Example: respeed measure --only rbm/4096x11008 --profiles torch-all --rounds 3",
    )
    command.set_defaults(function="cli.measure:measure")
    command.add_argument("--budget", metavar="TIME", help="begin nothing that ends later, such as 15min")
    command.add_argument("--wait", metavar="TIME", help=WAIT)
    command.add_argument("--only", nargs="+", default=[], metavar="WORD", help="only cells with it in PAPER/TABLE/CASE")
    command.add_argument("--profiles", nargs="+", default=[], metavar="NAME", help="only these rows")
    command.add_argument("--rounds", type=int, metavar="NUMBER", help="until each cell has so many rounds")
    command.add_argument("--another-session", action="store_true", help="measure everything as often again")
    command.add_argument("--stamp", type=Path, help=argparse.SUPPRESS)
    command.add_argument("--log", type=Path, help="also write into this file what is said on the screen")
    _add_config(command)


def _add_results(commands: Commands) -> None:
    command = commands.add_parser(
        "report",
        help="build tables, figures and the PDF from the records",
        epilog="Example: respeed report --only tables",
    )
    command.set_defaults(function="cli.results:make_report")
    command.add_argument("--only", choices=PARTS, metavar="PART", help=f"build only this: {', '.join(PARTS)}")
    command.add_argument("--machine", metavar="NAME", help="the machine to show in full, where there are many")
    command.add_argument("--papers", nargs="*", metavar="NAME", help="the papers to show (default: config.yaml's)")
    _add_smoke(command)
    command = commands.add_parser(
        "status",
        help="show how much is measured, and what a run would measure",
        epilog="Example: respeed status --config papers=all",
    )
    command.set_defaults(function="cli.results:show_status")
    command.add_argument("--machine", nargs="+", default=[], metavar="NAME", help="show these machines (default: all)")
    _add_smoke(command)
    _add_config(command)
    command = commands.add_parser(
        "claims",
        help="say what each paper claims, and whether it holds",
        epilog="Example: respeed claims --machine my-laptop",
    )
    command.set_defaults(function="cli.results:show_claims")
    command.add_argument("--machine", metavar="NAME", help="the name of its records (default: this machine's)")
    _add_smoke(command)


def _add_doctor_check_and_new(commands: Commands) -> None:
    command = commands.add_parser(
        "doctor",
        help="say what this machine is, what it can run, what disturbs it",
        epilog="Example: respeed doctor",
    )
    command.set_defaults(function="cli.machine:examine")
    command = commands.add_parser(
        "check",
        help="list every mistake in the files that people write, and in records",
        epilog="Example: respeed check records.zip",
    )
    command.set_defaults(function="cli.files:check")
    what = "check only these records: a folder, or a file that `export` wrote"
    command.add_argument("path", nargs="?", type=Path, metavar="PATH", help=what)
    command = commands.add_parser(
        "new",
        help="write a commented file to start from",
        epilog="Example: respeed new hardware my-gpu",
    )
    command.set_defaults(function="cli.files:write_starter")
    command.add_argument("kind", metavar="KIND", help="paper, workload, hardware, machine or backend")
    command.add_argument("name", metavar="NAME", help="its name, which its file or folder gets, too")


def _add_export_and_import(commands: Commands) -> None:
    command = commands.add_parser(
        "export",
        help="write records to one file, to take them elsewhere",
        epilog="Example: respeed export records.zip",
    )
    command.set_defaults(function="cli.files:export_records")
    command.add_argument("file", metavar="FILE", type=Path, help="the file to write")
    command.add_argument("--machine", metavar="NAME", help="only the records of this machine (default: of all)")
    _add_smoke(command)
    command = commands.add_parser(
        "import",
        help="add records of another machine",
        epilog="Example: respeed import records.zip --as lab",
    )
    command.set_defaults(function="cli.files:import_records")
    command.add_argument("path", metavar="PATH", type=Path, help="a file that `export` wrote, or a machine's folder")
    command.add_argument("--as", dest="name", metavar="NAME", help="the name that the machine gets here")
    _add_smoke(command)


def _add_internal(commands: Commands) -> None:
    """Add what rules and respeed itself call; without a help text, the list of commands does not show it."""
    command = commands.add_parser("probe")
    command.set_defaults(function="backends:probe")
    command.add_argument("backend")
    command.add_argument("device")


def _add_smoke(command: argparse.ArgumentParser) -> None:
    command.add_argument("--smoke", action="store_true", help="take the smoke records, whose times mean nothing")


def _add_config(command: argparse.ArgumentParser) -> None:
    says = "settings that replace those of config.yaml, such as preset=smoke"
    command.add_argument("--config", nargs="*", default=[], metavar="KEY=VALUE", help=says)


if __name__ == "__main__":
    sys.exit(main())
