"""Plant mistakes into copies of the project, one at a time, and say which of them the tests catch.

./run python -m tests.planted            those in files that differ from the last commit
./run python -m tests.planted FILE ...   those in these files of the package, such as analysis/cells.py
./run python -m tests.planted --some 50  so many of all, drawn at random

The tests that a mistake names run, without the slow ones, until the first that fails.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.planted.mistakes import Mistake, read_mistakes

ROOT, PACKAGE = Path(__file__).resolve().parents[2], "workflow/respeed"
LIMIT_SECONDS = 900


def files_of_git(*command: str) -> list[str]:
    done = subprocess.run(["git", *command], cwd=ROOT, check=True, text=True, capture_output=True)
    return done.stdout.splitlines()


def judge(mistakes: Sequence[Mistake], folder: Path) -> int:
    """Copy what git knows, and what is new, to the folder; say of each mistake what caught it. Return how many are."""
    for name in files_of_git("ls-files", "--cached", "--others", "--exclude-standard"):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    caught = 0
    for one in mistakes:
        began, failed = time.monotonic(), run_tests(folder, one)
        says = f"caught by {failed}" if failed else "MISSED"
        print(f"{one.file}: {one.old} -> {one.new}\n    {says} ({time.monotonic() - began:.0f} s)", flush=True)
        caught += bool(failed)
    return caught


def run_tests(folder: Path, mistake: Mistake) -> str:
    """Return which test failed of the copy with the mistake; empty if none did."""
    path = folder / PACKAGE / mistake.file
    right = path.read_text(encoding="utf-8")
    assert right.count(mistake.old) == 1, f"{mistake.file} has {right.count(mistake.old)} times {mistake.old!r}"
    path.write_text(right.replace(mistake.old, mistake.new), encoding="utf-8")
    options = ["-xq", "-n0", "-pno:cacheprovider", f"--basetemp={folder}.tests", "--hypothesis-profile=planted"]
    # A mistake of the same length, planted within a second, would be taken for what was compiled before it.
    environment = os.environ | {"PYTHONPATH": str(folder / "workflow"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *mistake.tests], cwd=folder, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=LIMIT_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"not done in {LIMIT_SECONDS} s"
    finally:
        path.write_text(right, encoding="utf-8")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if done.returncode and not failed:
        sys.exit(f"no test could run: {done.stdout[-2000:]}")
    return failed[1] if failed else ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.planted")
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--some", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    asked, every = parser.parse_args(), read_mistakes("mistakes.txt")
    changed = {name.removeprefix(f"{PACKAGE}/") for name in files_of_git("diff", "--name-only", "HEAD")}
    chosen = [one for one in every if one.file in (asked.files or changed)]
    if asked.some:
        chosen = random.sample(every, min(asked.some, len(every)))
    with tempfile.TemporaryDirectory(prefix="planted-") as home, ThreadPoolExecutor(asked.jobs) as pool:
        parts = (chosen[number :: asked.jobs] for number in range(asked.jobs))
        caught = sum(pool.map(judge, parts, (Path(home, str(number)) for number in range(asked.jobs))))
    print(f"{caught} of {len(chosen)} mistakes are caught")
    return int(caught < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
