"""What each subcommand does: it imports what it needs, since `respeed measure` must not pay for pandas, nor need it."""

import argparse

from respeed.cli.measure import wait_seconds


def learn(options: argparse.Namespace) -> None:
    from respeed.measure.learning import learn
    from respeed.records.folder import check_room

    check_room(smoke=False)
    learn(options.path, wait_seconds(options))


def describe(options: argparse.Namespace) -> None:
    from respeed.schedule.availability import write_description
    from respeed.schedule.selection import profiles_shown

    write_description(options.path, profiles_shown())


def gauge(options: argparse.Namespace) -> None:
    from respeed.inputs.config import load_config
    from respeed.machine.description import machine_slug
    from respeed.measure.gauge import measure_gauge
    from respeed.paths import hardware_path
    from respeed.records.folder import check_room

    check_room(smoke=False)
    path = options.path or hardware_path(load_config().machine or machine_slug(), smoke=False)
    measure_gauge(path, wait_seconds(options))


def tables(options: argparse.Namespace) -> None:
    from respeed.output.build import build_tables

    build_tables(options.smoke, options.machine, options.papers)


def figures(options: argparse.Namespace) -> None:
    from respeed.figures.build import build_figures

    build_figures(options.smoke, options.machine, options.papers)


def report(options: argparse.Namespace) -> None:
    from respeed.report.build import build_report

    print(build_report(options.smoke, options.machine, options.papers))


def claims(options: argparse.Namespace) -> None:
    from respeed.cli.claims import show_claims

    show_claims(options.smoke, options.machine)


def status(options: argparse.Namespace) -> None:
    from respeed.cli.status import show_status
    from respeed.inputs.config import parse_settings
    from respeed.schedule.workflow import resolve_workflow

    settings = parse_settings(options.config) | ({"preset": "smoke"} if options.smoke else {})
    show_status(resolve_workflow(settings), options.machine, every_cell=options.all)


def rename(options: argparse.Namespace) -> None:
    from respeed.cli.rename import rename

    rename(options.old, options.new, options.left_out, options.smoke)


def export(options: argparse.Namespace) -> None:
    from respeed.cli.carry import export_records

    export_records(options.file, options.smoke, options.machine)


def import_(options: argparse.Namespace) -> None:
    from respeed.cli.carry import import_records

    import_records(options.path, options.smoke, options.name)


def verify(options: argparse.Namespace) -> int:
    from respeed.cli.verify import verify_records

    return 0 if verify_records(options.path, options.smoke) else 2


def hardware(options: argparse.Namespace) -> None:
    from respeed.cli.hardware import show_hardware

    show_hardware()


def new(options: argparse.Namespace) -> None:
    from respeed.cli.new import write_starter

    write_starter(options.kind, options.name)


def check(options: argparse.Namespace) -> int:
    from respeed.cli.check import check_files

    return 0 if check_files() else 1


def doctor(options: argparse.Namespace) -> int:
    from respeed.cli.doctor import examine

    return 0 if examine() else 1
