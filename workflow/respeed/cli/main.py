"""Entry point: one subcommand a verb, a user's mistake is one line and exit code 2."""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from respeed.model.errors import UserError
from respeed.plan.stopping import end_when_stopped

# Neither success nor a mistake: the time was up, and the same command goes on (EX_TEMPFAIL of sysexits.h).
UNFINISHED = 75


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code. Without arguments those of this process, which then ends kindly when
    it is stopped."""
    if arguments is None:
        end_when_stopped()
    options = _parser().parse_args(arguments)
    try:
        code = options.run(options) or 0
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read it has seen enough, such as `head`. What is left must not fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except UserError as error:
        print(f"respeed: {error}", file=sys.stderr)
        return 2
    else:
        return code


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
    measure.add_argument("--session", type=Path, help="a file to write when nothing is left, which says what was done")
    measure.add_argument("--log", type=Path, help="a file that what is said on the screen goes to as well")
    measure.add_argument(
        "--config", nargs="*", default=[], metavar="KEY=VALUE", help="settings in place of config.yaml's"
    )
    learn = add("learn", _learn, "let an experiment's programs learn, to see what they learn and how fast")
    _may_wait(learn)
    learn.add_argument("path", type=Path, help="results/records/<machine>/<paper>/<experiment>/learning.json")
    sheet = add("sheet", _sheet, "write this machine's sheet: what it is, which profiles it cannot run")
    sheet.add_argument("path", type=Path, help="results/records/<machine>/machine.json")
    gauge = add("gauge", _gauge, "measure in a minute what this machine reaches: rates, memory, latencies, scaling")
    _may_wait(gauge)
    gauge.add_argument(
        "path", type=Path, nargs="?", help="results/records/<machine>/hardware.json (default: this machine's)"
    )
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
    status = add(
        "status", _status, "say of every machine and table what is measured, and what a run would measure next"
    )
    status.add_argument("--smoke", action="store_true", help="of the smoke preset, whatever config.yaml says")
    status.add_argument("--all", action="store_true", help="a line a cell, with what is missing")
    status.add_argument("--machine", nargs="+", default=[], metavar="NAME", help="of these alone (default: all)")
    status.add_argument(
        "--config", nargs="*", default=[], metavar="KEY=VALUE", help="papers, experiments, profiles, ... as of a run"
    )
    rename = add("rename", _rename, "give a machine another name, or a second one in its folder a name of its own")
    rename.add_argument("old", metavar="OLD", help="the machine's name so far")
    rename.add_argument("new", metavar="NEW", help="a name without records; or OLD again, where a folder was renamed")
    rename.add_argument("--left-out", action="store_true", help="only records that were made on other hardware")
    rename.add_argument("--smoke", action="store_true", help="of the smoke records, in results/smoke")
    exporting = add("export", _export, "write records to one file, to take them elsewhere")
    exporting.add_argument("file", metavar="FILE", type=Path, help="the bundle to write, such as records.zip")
    exporting.add_argument("--machine", metavar="NAME", help="only this machine's (default: those of all)")
    importing = add("import", _import, "add records that somebody exported, or that lie in a folder")
    importing.add_argument("path", metavar="FILE|FOLDER", type=Path, help="a bundle, or a machine's folder of records")
    importing.add_argument("--as", dest="name", metavar="NAME", help="what the machine is to be called here")
    for carrying in (exporting, importing):
        carrying.add_argument("--smoke", action="store_true", help="of the smoke records, which are no measurement")
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


def _measure(options: argparse.Namespace) -> int:
    from respeed.load.config import parse_settings
    from respeed.measure.session import measure_session
    from respeed.plan.duration import parse_duration
    from respeed.plan.sheet import write_sheet
    from respeed.plan.shown import profiles_shown
    from respeed.plan.slurm import PROFILE
    from respeed.plan.workflow import resolve_workflow
    from respeed.record.files import write_json

    budget = None if options.budget is None else parse_duration(options.budget, "--budget")
    wait = _wait_seconds(options)
    with _logging_to(options.log) as say:
        workflow = resolve_workflow(parse_settings(options.config))
        if workflow.nodes:
            raise UserError(f"cluster: true measures by snakemake --profile {PROFILE}; here: --config cluster=false")
        if workflow.targets[0].asks_again:
            # Snakemake may not know what it was made of, and then never asks for another.
            write_sheet(workflow.targets[0].description, profiles_shown())
        outcome = measure_session(workflow.work, budget, say, wait)
        say(f"respeed: {outcome}")
    if options.session and not outcome.is_whole:
        return UNFINISHED
    if options.session:
        write_json(options.session, outcome.facts(workflow.work))
    return 0


@contextlib.contextmanager
def _logging_to(path: Path | None) -> Iterator[Callable[[str], None]]:
    """A function that prints a line to the screen, and to the file if there is one. A user's mistake is put into the
    file as well: on a cluster, nobody sees the screen."""
    with path.open("w", encoding="utf-8") if path else open(os.devnull, "w") as file:

        def say(text: str) -> None:
            print(text, file=sys.stderr, flush=True)
            print(text, file=file, flush=True)

        try:
            yield say
        except UserError as error:
            print(f"respeed: {error}", file=file)
            raise


def _learn(options: argparse.Namespace) -> None:
    from respeed.measure.learning import learn

    learn(options.path, _wait_seconds(options))


def _sheet(options: argparse.Namespace) -> None:
    from respeed.plan.sheet import write_sheet
    from respeed.plan.shown import profiles_shown

    write_sheet(options.path, profiles_shown())


def _gauge(options: argparse.Namespace) -> None:
    from respeed.load.config import load_config
    from respeed.measure.gauge import measure_gauge
    from respeed.provenance.machine import machine_slug
    from respeed.record.paths import hardware_path

    path = options.path or hardware_path(load_config().machine or machine_slug(), smoke=False)
    measure_gauge(path, _wait_seconds(options))


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
    from respeed.load.config import parse_settings
    from respeed.plan.workflow import resolve_workflow

    settings = parse_settings(options.config) | ({"preset": "smoke"} if options.smoke else {})
    show_status(resolve_workflow(settings), options.machine, every_cell=options.all)


def _rename(options: argparse.Namespace) -> None:
    from respeed.cli.rename import rename

    rename(options.old, options.new, options.left_out, options.smoke)


def _export(options: argparse.Namespace) -> None:
    from respeed.cli.carry import export_records

    export_records(options.file, options.smoke, options.machine)


def _import(options: argparse.Namespace) -> None:
    from respeed.cli.carry import import_records

    import_records(options.path, options.smoke, options.name)


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
