"""Entry point: one subcommand a verb, a user's mistake is one line and exit code 2."""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from respeed.model.errors import UserError
from respeed.plan.stopping import end_when_stopped


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code. Without arguments those of this process, which then ends kindly when
    it is stopped."""
    if arguments is None:
        end_when_stopped()
    options = _parser().parse_args(arguments)
    try:
        return options.run(options) or 0
    except UserError as error:
        print(f"respeed: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="respeed", description="Published speedup tables, re-run on your hardware.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: object, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        return command

    measure = add("measure", _measure, "measure what config.yaml asks for and records do not have, turn after turn")
    measure.add_argument("--budget", metavar="TIME", help="begin nothing that would end later: 90s, 15min, 1.5h")
    _may_wait(measure)
    measure.add_argument("--session", type=Path, help="a file to write when all is done, which says what was done")
    measure.add_argument("--log", type=Path, help="a file that what is said on the screen goes to as well")
    measure.add_argument(
        "--config", nargs="*", default=[], metavar="KEY=VALUE", help="settings in place of config.yaml's"
    )
    learn = add("learn", _learn, "let an experiment's programs learn, to see what they learn and how fast")
    _may_wait(learn)
    learn.add_argument("path", type=Path, help="results/records/<machine>/<paper>/<experiment>/learning.json")
    sheet = add("sheet", _sheet, "write this machine's sheet: what it is, which profiles it cannot run")
    sheet.add_argument("path", type=Path, help="results/records/<machine>/machine.json")
    for name, run, text in (
        ("tables", _tables, "build the tables from the records that exist"),
        ("figures", _figures, "draw the figures from the tables"),
        ("report", _report, "build the report PDF from tables and figures"),
    ):
        building = add(name, run, text)
        building.add_argument("--smoke", action="store_true", help="of the smoke records, stamped as no measurement")
        building.add_argument(
            "--machine", help="of many machines, the one to show in full (default: this one; a few are all shown so)"
        )
        building.add_argument(
            "--papers", nargs="*", metavar="NAME", help="with or without records (default: those of config.yaml)"
        )
    claims = add("claims", _claims, "say what each paper claims, and whether it holds on this machine")
    claims.add_argument("--smoke", action="store_true", help="of the smoke records, which are no measurement")
    claims.add_argument("--machine", help="of another machine that has records (default: this one)")
    status = add("status", _status, "list the cells, their rounds and what is missing")
    status.add_argument("--smoke", action="store_true", help="of the smoke preset, whatever config.yaml says")
    add("hardware", _hardware, "say what this machine is, which profiles apply and why the others do not")
    new = add(
        "new",
        _new,
        "write a commented file to start from: a paper, a workload, a hardware profile, a machine or a backend",
    )
    new.add_argument("kind", help="paper, workload, hardware, machine or backend")
    new.add_argument("name", metavar="NAME", help="what it is to be called; its file or folder gets this name")
    add("check", _check, "say every mistake in config.yaml, the hardware profiles, the papers and workflow/machines")
    add("doctor", _doctor, "say whether this machine is fit to measure now, and what to do about it")
    return parser


def _may_wait(measuring: argparse.ArgumentParser) -> None:
    measuring.add_argument(
        "--wait",
        metavar="TIME",
        help="how long to wait for another measurement on this machine: 0, 90s, 1.5h (default: until it is done)",
    )


# Each command imports what it needs: `respeed measure` must not pay for pandas, nor need it.


def _wait_seconds(options: argparse.Namespace) -> float | None:
    from respeed.plan.duration import parse_duration

    return None if options.wait is None else parse_duration(options.wait, "--wait", or_none_at_all=True)


def _measure(options: argparse.Namespace) -> None:
    from respeed.load.config import parse_settings
    from respeed.measure.session import measure_session
    from respeed.plan.duration import parse_duration
    from respeed.plan.workflow import load_workflow
    from respeed.record.files import write_json

    budget = None if options.budget is None else parse_duration(options.budget, "--budget")
    wait = _wait_seconds(options)
    work = load_workflow(parse_settings(options.config)).work
    with _logging_to(options.log) as say:
        outcome = measure_session(work, budget, say, wait)
        say(f"respeed: {outcome}")
    if options.session:
        write_json(options.session, outcome.facts(work))


@contextlib.contextmanager
def _logging_to(path: Path | None) -> Iterator[Callable[[str], None]]:
    """A function that prints a line to the screen, and to the file if there is one."""
    with path.open("w", encoding="utf-8") if path else open(os.devnull, "w") as file:

        def say(text: str) -> None:
            print(text, file=sys.stderr, flush=True)
            print(text, file=file, flush=True)

        yield say


def _learn(options: argparse.Namespace) -> None:
    from respeed.measure.learning import learn

    learn(options.path, _wait_seconds(options))


def _sheet(options: argparse.Namespace) -> None:
    from respeed.load.hardware import load_profiles
    from respeed.plan.sheet import make_sheet
    from respeed.record.files import write_json

    write_json(options.path, make_sheet(options.path.parent.name, load_profiles()))


def _tables(options: argparse.Namespace) -> None:
    from respeed.tables.build import build_tables

    build_tables(options.smoke, options.machine, options.papers)


def _figures(options: argparse.Namespace) -> None:
    from respeed.figures.build import build_figures

    build_figures(options.smoke, options.machine, options.papers)


def _report(options: argparse.Namespace) -> None:
    from respeed.report.build import build_report

    print(build_report(options.smoke, options.machine, options.papers))


def _claims(options: argparse.Namespace) -> None:
    from respeed.cli.claims import show_claims

    show_claims(options.smoke, options.machine)


def _status(options: argparse.Namespace) -> None:
    from respeed.cli.status import show_status
    from respeed.plan.workflow import load_workflow

    show_status(load_workflow({"preset": "smoke"} if options.smoke else {}))


def _hardware(options: argparse.Namespace) -> None:
    from respeed.cli.hardware import show_hardware

    show_hardware()


def _new(options: argparse.Namespace) -> None:
    from respeed.cli.new import write_starter

    write_starter(options.kind, options.name)


def _check(options: argparse.Namespace) -> int:
    from respeed.cli.check import check_files

    return 0 if check_files() else 1


def _doctor(options: argparse.Namespace) -> int:
    from respeed.cli.doctor import examine

    return 0 if examine() else 1


if __name__ == "__main__":
    sys.exit(main())
