"""What a program learns, beside how fast it is: its objective against time, and pictures of what it has learned.

The parent starts `python -m respeed.measure.learning` in the environment of a measurement, on all cores, with the
products of SciPy's BLAS, and writes what it prints as results/records/<machine>/<paper>/<experiment>/learning.json.
"""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from respeed.errors import NotMeasurable, UserError, nearest
from respeed.inputs.papers import load_paper
from respeed.machine.accelerators import refuse_pretended
from respeed.machine.cpu import usable_cores
from respeed.machine.process import bind, die_with_parent, private_stdout
from respeed.machine.software import source_commit
from respeed.measure.lock import machine_lock
from respeed.measure.worker import process_options
from respeed.model.paper import Case
from respeed.paths import ROOT, parse_learning_path
from respeed.records.models import LEARNING_SCHEMA
from respeed.records.store import write_record
from respeed.schedule.availability import check_is_this_machine
from respeed.timing.clock import seconds_now, utc_now

# Seconds of steps for each program; a smoke run only shows that it works.
SECONDS, SMOKE_SECONDS = 4.0, 0.2
# Time between two points of a curve, of which the objective takes a part that is not counted.
POINT_SECONDS = 0.2
# Evenly from all.
PICTURES = 64


def learn(path: Path, wait_seconds: float | None = None) -> None:
    """Let every program of the experiment learn, and write the record `path`; UserError if it has nothing to learn, or
    if another measurement still runs after `wait_seconds`, or if the name is another machine's."""
    machine, paper, experiment, smoke = parse_learning_path(path)
    refuse_pretended(ROOT, smoke=smoke)
    check_is_this_machine(machine, smoke)
    experiments = load_paper(paper).experiments
    if experiment not in experiments:
        raise UserError(f"{path}: {paper} has no experiment {experiment!r}{nearest(experiment, experiments)}")
    cases = experiments[experiment].learning
    if not cases:
        raise UserError(f"{path}: {paper} {experiment} has no case to learn")
    cores = usable_cores()
    order = {
        "cases": [asdict(case) for case in cases],
        "threads": len(cores),
        "cpus": list(cores),
        "seconds": SMOKE_SECONDS if smoke else SECONDS,
    }
    started = utc_now()
    with machine_lock(wait_seconds) as lock:
        command = [sys.executable, "-P", "-m", "respeed.measure.learning"]
        options = process_options(len(cores), lock)
        done = subprocess.run(command, input=json.dumps(order), stdout=subprocess.PIPE, check=False, **options)
    if done.returncode:
        raise UserError(f"{path}: learning ended with exit code {done.returncode}; its message stands above")
    write_record(
        path,
        {
            "schema": LEARNING_SCHEMA,
            "machine": machine,
            "paper": paper,
            "experiment": experiment,
            "smoke": smoke,
            "started": started,
            "threads": len(cores),
            "commit": source_commit(ROOT),
            **json.loads(done.stdout),
        },
    )


def _run(order: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The `programs` that learned, and those that cannot here (`absent`), each with the reason."""
    programs, absent, backend = [], [], None
    for case in order["cases"]:
        try:
            backend = backend or _make_backend(order["threads"])
            programs.append(_learn_case(Case(**case), backend, order["seconds"]))
        except NotMeasurable as reason:
            print(f"    {case['workload']}: left out: {reason}", file=sys.stderr, flush=True)
            told = {"workload": case["workload"], "parameters": case["parameters"], "reason": str(reason)}
            absent.append(told)
    return {"programs": programs, "absent": absent} if absent else {"programs": programs}


def _make_backend(threads: int) -> Any:
    from respeed.backends import make_backend, scipy_backend

    how: dict[str, Any] = {"device": "cpu", "precision": "fp32", "seed": 1}
    try:
        return make_backend(scipy_backend(), threads=threads, **how)
    except NotMeasurable:  # a library that has one thread
        return make_backend(scipy_backend(), threads=1, **how)


def _learn_case(case: Case, backend: Any, budget: float) -> dict[str, Any]:
    """The curve of one program: seconds of its steps alone, and what is left to explain after them."""
    from respeed.workloads import load_workload

    workload: Any = load_workload(case.workload)
    program = workload.build_learner(backend, case)
    seconds, point, steps = 0.0, 0.0, 0
    curve: list[tuple[float, float]] = []
    program.step()  # compiles, and is not counted: every program then starts again
    program = workload.build_learner(backend, case)
    while seconds < budget:
        begin = seconds_now()
        program.step()
        backend.sync()
        seconds += seconds_now() - begin
        steps += 1
        if seconds >= point or seconds >= budget:
            curve.append((round(seconds, 4), round(float(program.left_over()), 6)))
            point = seconds + min(POINT_SECONDS, budget / 10)
    print(f"    {case.workload}: {steps} steps, {curve[0][1]:.3f} to {curve[-1][1]:.3f}", file=sys.stderr, flush=True)
    pictures = program.pictures()
    shown = np.linspace(0, len(pictures) - 1, min(PICTURES, len(pictures))).astype(int)
    return {
        "workload": case.workload,
        "parameters": dict(case.parameters),
        "steps": steps,
        "curve": curve,
        "pictures": [_grey(picture) for picture in pictures[shown]],
    }


def _grey(picture: np.ndarray) -> list[list[int]]:
    """0 to 255, with 128 for zero: each picture has its own scale."""
    largest = float(np.abs(picture).max()) or 1.0
    grey: list[list[int]] = np.rint(128 + 127 * picture / largest).astype(int).tolist()
    return grey


def main() -> None:
    """Learn what standard input asks for, and print what came of it."""
    output = private_stdout()
    die_with_parent()
    order = json.load(sys.stdin)
    bind(order["cpus"])
    json.dump(_run(order), output)
    output.flush()


if __name__ == "__main__":
    main()
