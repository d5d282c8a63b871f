"""Measure a machine in one command and pack what came of it: for machines that are lent by the minute.

python bench/record_machine.py --minutes 9 --bundle records.zip

Needs Python 3.11 with torch, NumPy, SciPy, Numba, PyYAML, pydantic, psutil, threadpoolctl, nvidia-ml-py and pytest,
no network, no Snakemake, no Typst and no set-up of the project. It goes in stages, the most telling first:

    device       what torch and the driver say of the accelerators, and whether each of their rows can be set up
    first        one round of everything on their rows
    conformance  the conformance tests on them
    gpu          their steps beside what bounds these (bench/gpu.py)
    rounds       the rounds of the preset in their order, on all rows, until the minutes are up
    learning     what programs learn

Without an accelerator: device, rounds and learning. Each stage is a process with a time limit of its own; one that
fails, crashes or hangs does not stop the next. After each, and every half minute meanwhile, records.zip is packed anew
with the records that there are. Beside it lies what each stage printed (records-first.txt, ...), and how each ended,
when and why (records-stages.json). Called again on the same machine with the same preset, it goes on where it was: what
passed is not run again, and what had too little time is. It ends with 0 if all stages passed, with 75 if only the time
was up for some, and else with 1.
In a checkout, ./run respeed import records.zip adds the records; ./run snakemake --cores all pdf shows them.
"""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

BEGAN = time.monotonic()  # the imports below count
ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow"), str(ROOT / "bench")]

from lent import STEPS
from stages import Stage, Stages

from respeed.errors import UserError
from respeed.inputs.config import load_config
from respeed.inputs.profiles import load_profiles
from respeed.machine.accelerators import refuse_pretended
from respeed.machine.description import machine_slug
from respeed.paths import description_path
from respeed.records.fingerprint import HOST
from respeed.records.store import write_record
from respeed.records.transfer import export_bundle
from respeed.schedule.availability import make_description, why_not

# Shares of the minutes, and most minutes, that stages may take; the last two have what is left.
FIRST, CONFORMANCE, COMPARING = 0.25, 0.25, 0.15
DEVICE_MINUTES, CONFORMANCE_MINUTES = 1.0, 3.0
# The longest comparison of bench/gpu.py takes less than another minute.
COMPARISON_MINUTES = 1.0
# What the last stages leave: for what programs learn, and for the last packing.
LEARNING_MINUTES, PACKING_SECONDS = 0.7, 5.0
# What a process takes before it measures.
START_SECONDS = 5.0
# Without the project's own settings and fixtures, which ask for more packages and for their versions; with the place of
# what hangs.
TESTS = (
    *("-m", "pytest", "-q", "-rs", "-m", "gpu", "-p", "no:cacheprovider", "--confcutdir=tests/conformance"),
    *("-o", "addopts=", "-o", "filterwarnings=default", "-o", "faulthandler_timeout=60"),
)


def step(name: str, seconds: float, preset: str | None) -> Stage:
    """This script again, told to do one step. A session begins nothing that it expects to end after its own time, which
    is a little less, and is then not ended in the middle."""
    told, its_own = ["--preset", preset] if preset else [], max(seconds - START_SECONDS, 1)
    return Stage(name, ["bench/record_machine.py", "--step", name, "--seconds", f"{its_own:.0f}", *told], seconds)


def go_through(stages: Stages, deadline: float, preset: str | None, *, accelerated: bool, smoke: bool) -> None:
    """Run all stages in their order."""
    whole = deadline - time.monotonic()
    stages.run(step("device", 60 * DEVICE_MINUTES, preset))
    if accelerated:
        stages.run(step("first", FIRST * whole, preset))
        tests = [*TESTS, "tests/conformance"]
        stages.run(Stage("conformance", tests, min(60 * CONFORMANCE_MINUTES, CONFORMANCE * whole)))
        minutes, told = f"{COMPARING * whole / 60:.2f}", str(stages.output("gpu"))
        command = ["bench/gpu.py", "--minutes", minutes, "--but", told, *(["--smoke"] if smoke else [])]
        stages.run(Stage("gpu", command, COMPARING * whole + 60 * COMPARISON_MINUTES))
    left = deadline - time.monotonic() - PACKING_SECONDS
    stages.run(step("rounds", max(left - 60 * LEARNING_MINUTES, left / 2), preset))
    stages.run(step("learning", deadline - time.monotonic() - PACKING_SECONDS, preset))


def pack(bundle: Path, smoke: bool, machine: str) -> None:
    """Pack the records that there are. What cannot be packed now is tried again later."""
    try:
        packed = export_bundle(bundle, smoke, machine)
    except (OSError, UserError) as error:
        print(f"not packed: {error}", flush=True)
        return
    for reason, files in packed.left_out.items():
        print(f"left out: {len(files)} files such as {files[0]}: {reason}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=9.0, help="how long all of it may take (9)")
    parser.add_argument("--bundle", type=Path, default=Path("records.zip"), help="where to pack the records")
    parser.add_argument("--preset", help="in place of the one in config.yaml")
    parser.add_argument("--step", choices=STEPS, help="only this one, in this process, and no bundle")
    parser.add_argument("--seconds", type=float, default=60.0, help="with --step: how long it may take")
    options = parser.parse_args()
    bundle, deadline = options.bundle.absolute(), BEGAN + 60 * options.minutes
    os.chdir(ROOT)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "workflow"), os.environ.get("PYTHONPATH")]))
    config = load_config(overrides={"preset": options.preset} if options.preset else {})
    machine, profiles, smoke = config.machine or machine_slug(), load_profiles(), config.preset.is_smoke
    if options.step:
        return STEPS[options.step](config, profiles, machine, options.seconds)
    # Whoever lends the machine ends this first, and then takes it away.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        refuse_pretended(ROOT, smoke=smoke)
    except UserError as error:
        print(f"bench/record_machine.py: {error}", file=sys.stderr)
        return 1
    description = make_description(machine, profiles)
    write_record(description_path(machine, smoke), description)
    accelerated = any(not profile.is_cpu and why_not(profile) is None for profile in profiles.values())
    job = {"machine": machine, HOST: description["hardware"].get(HOST), "preset": config.preset.name}
    stages = Stages(bundle, deadline - PACKING_SECONDS, lambda: pack(bundle, smoke, machine), job)
    try:
        go_through(stages, deadline, options.preset, accelerated=accelerated, smoke=smoke)
    finally:
        # Whatever goes wrong: what was measured on a machine that is lent must not stay there.
        pack(bundle, smoke, machine)
    print(f"packed in {bundle}; how each stage ended: {stages.log}")
    return stages.exit_code


if __name__ == "__main__":
    sys.exit(main())
