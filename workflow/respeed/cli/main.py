"""Entry point: one subcommand a verb, a user's mistake is one line and exit code 2."""

import argparse
import io
import os
import sys
from pathlib import Path

from respeed.cli import commands as verbs
from respeed.cli.measure import measure as measure_cells
from respeed.errors import UserError, refusal_anywhere
from respeed.schedule.signals import end_when_stopped


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code. Without arguments those of this process, which then ends kindly when
    it is stopped."""
    if arguments is None:
        end_when_stopped()
        for stream in (sys.stdout, sys.stderr):  # a terminal may have few letters: the others as escapes
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    try:
        code = options.run(options) or 0
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
    else:
        return code


def _say_no_more() -> None:
    """What was to be printed must not fail again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="respeed", description="Published speedup tables, re-run on your hardware.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: object, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        return command

    measure = add(
        "measure", measure_cells, "measure what config.yaml asks for and records do not have, turn after turn"
    )
    measure.add_argument("--budget", metavar="TIME", help="begin nothing that would end later: 90s, 15min, 1.5h")
    _may_wait(measure)
    measure.add_argument("--session", type=Path, help="a file to write when nothing is left, which says what was done")
    measure.add_argument("--log", type=Path, help="a file that what is said on the screen goes to as well")
    measure.add_argument(
        "--config", nargs="*", default=[], metavar="KEY=VALUE", help="settings in place of config.yaml's"
    )
    learn = add("learn", verbs.learn, "let an experiment's programs learn, to see what they learn and how fast")
    _may_wait(learn)
    learn.add_argument("path", type=Path, help="results/records/<machine>/<paper>/<experiment>/learning.json")
    describe = add("describe", verbs.describe, "write what this machine is, and which profiles it cannot run")
    describe.add_argument("path", type=Path, help="results/records/<machine>/machine.json")
    gauge = add(
        "gauge", verbs.gauge, "measure in a minute what this machine reaches: rates, memory, latencies, scaling"
    )
    _may_wait(gauge)
    gauge.add_argument(
        "path", type=Path, nargs="?", help="results/records/<machine>/hardware.json (default: this machine's)"
    )
    for name, run, text in (
        ("tables", verbs.tables, "build the tables from the records that exist"),
        ("figures", verbs.figures, "draw the figures from the tables"),
        ("report", verbs.report, "build the report PDF from tables and figures"),
    ):
        building = add(name, run, text)
        building.add_argument("--smoke", action="store_true", help="of the smoke records, stamped as no measurement")
        building.add_argument(
            "--machine", help="of many machines, the one to show in full (default: this one; a few are all shown so)"
        )
        building.add_argument(
            "--papers", nargs="*", metavar="NAME", help="with or without records (default: those of config.yaml)"
        )
    claims = add("claims", verbs.claims, "say what each paper claims, and whether it holds on this machine")
    claims.add_argument("--smoke", action="store_true", help="of the smoke records, which are no measurement")
    claims.add_argument("--machine", help="of another machine that has records (default: this one)")
    status = add(
        "status", verbs.status, "say of every machine and table what is measured, and what a run would measure next"
    )
    status.add_argument("--smoke", action="store_true", help="of the smoke preset, whatever config.yaml says")
    status.add_argument("--all", action="store_true", help="a line a cell, with what is missing")
    status.add_argument("--machine", nargs="+", default=[], metavar="NAME", help="of these alone (default: all)")
    status.add_argument(
        "--config", nargs="*", default=[], metavar="KEY=VALUE", help="papers, experiments, profiles, ... as of a run"
    )
    rename = add("rename", verbs.rename, "give a machine another name, or a second one in its folder a name of its own")
    rename.add_argument("old", metavar="OLD", help="the machine's name so far")
    rename.add_argument("new", metavar="NEW", help="a name without records; or OLD again, where a folder was renamed")
    rename.add_argument("--left-out", action="store_true", help="only records that were made on other hardware")
    rename.add_argument("--smoke", action="store_true", help="of the smoke records, in results/smoke")
    exporting = add("export", verbs.export, "write records to one file, to take them elsewhere")
    exporting.add_argument("file", metavar="FILE", type=Path, help="the bundle to write, such as records.zip")
    exporting.add_argument("--machine", metavar="NAME", help="only this machine's (default: those of all)")
    importing = add("import", verbs.import_, "add records that somebody exported, or that lie in a folder")
    importing.add_argument("path", metavar="FILE|FOLDER", type=Path, help="a bundle, or a machine's folder of records")
    importing.add_argument("--as", dest="name", metavar="NAME", help="what the machine is to be called here")
    for carrying in (exporting, importing):
        carrying.add_argument("--smoke", action="store_true", help="of the smoke records, which are no measurement")
    verifying = add("verify", verbs.verify, "say whether records are as they were written, and lie where they belong")
    verifying.add_argument(
        "path", metavar="PATH", type=Path, nargs="?", help="a folder, a record or a bundle (default: results/records)"
    )
    verifying.add_argument("--smoke", action="store_true", help="by default those in results/smoke")
    add("hardware", verbs.hardware, "say what this machine is, which profiles apply and why the others do not")
    new = add(
        "new",
        verbs.new,
        "write a commented file to start from: a paper, a workload, a hardware profile, a machine or a backend",
    )
    new.add_argument("kind", help="paper, workload, hardware, machine or backend")
    new.add_argument("name", metavar="NAME", help="what it is to be called; its file or folder gets this name")
    add(
        "check",
        verbs.check,
        "say every mistake in config.yaml, the hardware profiles, the papers and workflow/machines",
    )
    add("doctor", verbs.doctor, "say whether this machine is fit to measure now, and what to do about it")
    return parser


def _may_wait(measuring: argparse.ArgumentParser) -> None:
    measuring.add_argument(
        "--wait",
        metavar="TIME",
        help="how long to wait for another measurement on this machine: 0, 90s, 1.5h (default: until it is done)",
    )


if __name__ == "__main__":
    sys.exit(main())
