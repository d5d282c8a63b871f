"""Entry point: one subcommand a verb, a user's mistake is one line and exit code 2."""

import argparse
import signal
import sys
from pathlib import Path

from respeed.model.errors import UserError


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options) or 0
    except UserError as error:
        print(f"respeed: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("respeed: interrupted; what was measured is kept", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="respeed", description="Published speedup tables, re-run on your hardware.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: object, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        return command

    measure = add("measure", _measure, "measure rounds and write their records")
    measure.add_argument(
        "path", type=Path, nargs="+", help="results/records/<machine>/<paper>/<experiment>/<profile>/round-01.json"
    )
    measure.add_argument("--seed", type=int, help="seed of the order and the data (default: that of config.yaml)")
    learn = add("learn", _learn, "let an experiment's programs learn, to see what they learn and how fast")
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
    status = add("status", _status, "list the cells, their rounds and what is missing")
    status.add_argument("--smoke", action="store_true", help="of the smoke preset, whatever config.yaml says")
    add("hardware", _hardware, "say what this machine is, which profiles apply and why the others do not")
    add("doctor", _doctor, "say whether this machine is fit to measure now, and what to do about it")
    return parser


# Each command imports what it needs: `respeed measure` must not pay for pandas, nor need it.


def _measure(options: argparse.Namespace) -> None:
    from respeed.load.config import load_config
    from respeed.measure.parent import measure_rounds
    from respeed.record.paths import parse_round_path

    # SIGTERM ends the round as Ctrl-C does, so that the measuring process ends as well.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    seed = load_config().seed if options.seed is None else options.seed
    measure_rounds({parse_round_path(path): path for path in options.path}, seed)


def _learn(options: argparse.Namespace) -> None:
    from respeed.measure.learning import learn

    learn(options.path)


def _sheet(options: argparse.Namespace) -> None:
    from respeed.load.hardware import load_profiles
    from respeed.plan.sheet import make_sheet
    from respeed.record.files import write_json

    write_json(options.path, make_sheet(options.path.parent.name, load_profiles()))


def _tables(options: argparse.Namespace) -> None:
    from respeed.tables.build import build_tables

    build_tables(options.smoke, options.machine)


def _figures(options: argparse.Namespace) -> None:
    from respeed.figures.build import build_figures

    build_figures(options.smoke, options.machine)


def _report(options: argparse.Namespace) -> None:
    from respeed.report.build import build_report

    print(build_report(options.smoke, options.machine))


def _status(options: argparse.Namespace) -> None:
    from respeed.cli.status import show_status
    from respeed.plan.workflow import load_workflow

    show_status(load_workflow({"preset": "smoke"} if options.smoke else {}))


def _hardware(options: argparse.Namespace) -> None:
    from respeed.cli.hardware import show_hardware

    show_hardware()


def _doctor(options: argparse.Namespace) -> int:
    from respeed.cli.doctor import examine

    return 0 if examine() else 1


if __name__ == "__main__":
    sys.exit(main())
