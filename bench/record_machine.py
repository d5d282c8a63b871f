"""Measure a machine in one command and pack what came of it: for machines that are lent by the minute.

python bench/record_machine.py --minutes 9 --bundle records.zip

Needs Python 3.11 with torch, NumPy, SciPy, Numba, PyYAML, psutil, threadpoolctl, nvidia-ml-py and pytest, no network,
no Snakemake, no Typst and no set-up of the project. Runs the conformance tests of the accelerator (conformance.txt) and
compares its steps with what bounds them (bench/gpu.py, gpu.txt), then the rounds of the preset in their order, round 1
of everything first, until the minutes are up. Called again, it goes on where it was. What the tests and comparisons
printed lies beside the bundle: records-conformance.txt, records-gpu.txt.
In a checkout, ./run respeed import records.zip adds the records; ./run snakemake --cores all pdf shows them.

Where scikit-learn's pictures will be missing, run this here first and take results/data along:
python bench/record_machine.py --photographs
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow"))

from respeed.bundle.export import export_bundle
from respeed.data.photographs import keep_copy
from respeed.load.config import load_config
from respeed.load.hardware import load_profiles
from respeed.load.papers import load_papers
from respeed.measure.learning import learn
from respeed.measure.session import measure_session
from respeed.model.errors import UserError
from respeed.plan.availability import why_not
from respeed.plan.description import make_description
from respeed.plan.work import Work, make_work
from respeed.provenance.machine import machine_slug
from respeed.record.files import write_record, write_text
from respeed.record.paths import description_path, learning_path

# What a program learns is shown after some seconds of it; with its set-up.
LEARNING_SECONDS = 30.0
CONFORMANCE_MINUTES = 3.0
# The share of the minutes that bench/gpu.py may begin comparisons in; the longest takes less than another minute.
COMPARING = 0.15
COMPARISON_MINUTES = 1.0


def run_once(file: Path, command: list[str], minutes: float) -> bool:
    """Run a command of Python's, unless it was; keep its verdict, and what it prints, in a file."""
    if file.exists():
        return file.read_text().startswith("passed")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow")}
    try:
        done = subprocess.run(
            [sys.executable, *command], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=60 * minutes, check=False,
        )  # fmt: skip
        told, passed = done.stdout.decode(errors="replace"), done.returncode == 0
    except subprocess.TimeoutExpired as late:
        told, passed = f"{(late.stdout or b'').decode(errors='replace')}\nnot done after {minutes:g} minutes", False
    write_text(file, f"{'passed' if passed else 'failed'}\n{told}")
    print("\n".join(told.splitlines()[-30:]), flush=True)
    return passed


def beside(bundle: Path, what: str) -> Path:
    """A text that belongs to the bundle, but is no record."""
    return bundle.with_name(f"{bundle.stem}-{what}.txt")


def conformance(bundle: Path) -> bool:
    """Run the tests that need an accelerator."""
    command = ["-m", "pytest", "-q", "-rs", "-m", "gpu", "-p", "no:cacheprovider", "tests/conformance"]
    return run_once(beside(bundle, "conformance"), command, CONFORMANCE_MINUTES)


def compare_steps(bundle: Path, minutes: float) -> bool:
    """Compare the accelerator's steps with what bounds them, in no more than so many minutes and one."""
    command = ["bench/gpu.py", "--minutes", f"{minutes:.2f}"]
    return run_once(beside(bundle, "gpu"), command, minutes + COMPARISON_MINUTES)


def measure_all(work: Work, deadline: float) -> str:
    """Measure until all is done, or the next turn would end too late; says why it ended."""
    try:
        ended = measure_session(work, budget_seconds=deadline - time.monotonic()).ended
    except UserError as error:
        ended = str(error)
    for paper, experiment in dict.fromkeys((cell.paper, cell.experiment) for cell in work.cells):
        path = learning_path(work.machine, paper, experiment, work.smoke)
        waits = work.papers[paper].experiments[experiment].learning and not path.exists()
        if waits and time.monotonic() + LEARNING_SECONDS < deadline:
            try:
                learn(path)
            except UserError as error:
                print(error, flush=True)
    return ended


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=9.0, help="how long all of it may take (9)")
    parser.add_argument("--bundle", type=Path, default=Path("records.zip"), help="where to pack the records")
    parser.add_argument("--preset", help="in place of the one in config.yaml")
    parser.add_argument("--photographs", action="store_true", help="only keep a copy of scikit-learn's pictures")
    options = parser.parse_args()
    bundle = options.bundle.absolute()
    os.chdir(ROOT)
    if options.photographs:
        print(keep_copy())
        return 0
    deadline = time.monotonic() + 60 * options.minutes
    config = load_config(overrides={"preset": options.preset} if options.preset else {})
    machine = config.machine or machine_slug()
    profiles = load_profiles()
    for name, profile in profiles.items():
        print(f"{name}: {why_not(profile) or 'will be measured'}", flush=True)
    write_record(description_path(machine, config.preset.is_smoke), make_description(machine, profiles))
    accelerated = any(not profile.is_cpu and why_not(profile) is None for profile in profiles.values())
    passed = conformance(bundle) if accelerated else True
    if accelerated and not config.preset.is_smoke:
        compare_steps(bundle, COMPARING * options.minutes)
    try:
        ended = measure_all(make_work(config, load_papers(config.papers), profiles, machine), deadline)
    finally:
        # Whatever goes wrong: what was measured on a machine that is lent must not stay there.
        packed = export_bundle(bundle, config.preset.is_smoke, machine)
        for reason, files in packed.left_out.items():
            print(f"left out: {len(files)} files such as {files[0]}: {reason}")
    print(f"{ended}; packed in {bundle}" + ("" if passed else "; CONFORMANCE FAILED"))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
