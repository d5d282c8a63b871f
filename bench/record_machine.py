"""Measure a machine that is lent by the minute in one command, and pack what came of it.

python bench/record_machine.py --minutes 9 --bundle records.zip

Needs Python 3.11 with torch, NumPy, SciPy, Numba, pandas, PyYAML, pydantic, psutil, threadpoolctl, nvidia-ml-py and,
for the tests, pytest; no network, no Snakemake, no Typst and no set-up of the project. It gives these commands, each
until a share of the minutes is over, and one that fails, crashes or hangs does not stop the next:

    respeed measure --bundle    what config.yaml asks for, a first table before all else; packed after each turn
    pytest tests/conformance    on an accelerator: the conformance tests
    bench/gpu.py                on an accelerator: steps beside what bounds them
    respeed learn               what programs learn, as far as it is not there
    respeed export              all of it

Called again, it goes on where measuring was. It ends with 0 if all were done, with 75 if only the time was up, else
with 1. In a checkout, ./run respeed import records.zip adds the records; ./run snakemake --cores all report shows them.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

BEGAN = time.monotonic()  # the imports below count
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow"))

from respeed.errors import UserError
from respeed.schedule.workflow import resolve_workflow

RESPEED = ("-m", "respeed")
# Without the project's own settings and fixtures, which ask for more packages; with the place of what hangs.
TESTS = (
    *("-m", "pytest", "-q", "-rs", "-m", "gpu", "-p", "no:cacheprovider", "--confcutdir=tests/conformance"),
    *("-o", "addopts=", "-o", "filterwarnings=default", "-o", "faulthandler_timeout=60", "tests/conformance"),
)
# What the last packing may take.
PACKING_SECONDS = 20.0


def commands(minutes: float, bundle: Path, preset: str | None) -> list[tuple[float, Sequence[str]]]:
    """What to give Python, and by when in seconds each must have ended."""
    overrides = {"preset": preset} if preset else {}
    (target,) = resolve_workflow(overrides).targets
    config, smoke = [f"{key}={value}" for key, value in overrides.items()], ["--smoke"] if target.smoke else []
    budget, seconds = f"{0.65 * minutes:g}min", max(60 * minutes - PACKING_SECONDS, 0.0)
    asked = [(0.75, [*RESPEED, "measure", "--bundle", str(bundle), "--budget", budget, "--config", *config])]
    if any(not profile.is_cpu and target.why_not(profile) is None for profile in target.profiles.values()):
        asked += [(0.85, [*TESTS]), (0.95, ["bench/gpu.py", "--minutes", f"{0.05 * minutes:g}", *smoke])]
    asked += [(1.0, [*RESPEED, "learn", str(path)]) for path in target.learning_records if not path.exists()]
    last = [*RESPEED, "export", str(bundle), "--machine", target.machine, *smoke]
    return [*((share * seconds, command) for share, command in asked), (seconds + PACKING_SECONDS, last)]


def go_through(asked: Iterable[tuple[float, Sequence[str]]], began: float) -> int:
    """Give the commands one after the other; 0, 75 or 1."""
    ends = set()
    for until, command in asked:
        left = until - (time.monotonic() - began)
        try:
            end = subprocess.run([sys.executable, *command], timeout=max(left, 0.0), check=False).returncode
        except subprocess.TimeoutExpired:
            end = os.EX_TEMPFAIL
        ends.add(end)
        how = {0: "done", os.EX_TEMPFAIL: "its time was up"}.get(end, f"failed with exit code {end}")
        print(f"record_machine: {' '.join(command)[:80]}: {how}", flush=True)
    return 1 if ends - {0, os.EX_TEMPFAIL} else max(ends)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=9.0, help="how long all of it may take (9)")
    parser.add_argument("--bundle", type=Path, default=Path("records.zip"), help="where to pack the records")
    parser.add_argument("--preset", help="in place of the one in config.yaml")
    options = parser.parse_args()
    bundle = options.bundle.absolute()
    os.chdir(ROOT)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [sys.path[0], os.environ.get("PYTHONPATH")]))
    # Whoever lends the machine ends this first: what it started ends with it.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        return go_through(commands(options.minutes, bundle, options.preset), BEGAN)
    except UserError as error:
        print(f"record_machine: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
