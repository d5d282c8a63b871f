"""Plant mistakes into a copy of the project, one at a time, and say which of them the tests catch.

./run python -m tests.planted                       those of mistakes.txt in files that differ from the last commit
./run python -m tests.planted FILE ...              those of mistakes.txt in these files, such as analysis/cells.py
./run python -m tests.planted --some 50             so many of mistakes.txt, drawn at random
./run python -m tests.planted --fresh 40 --seed 7   so many that nobody wrote down, on lines drawn at random

The tests that run a line look for its mistake, for a minute at most. A fresh mistake is missed, or it changes nothing:
then equivalent.txt has it, and why. The exit code is 0 if 95 % of fresh ones, or all of the written ones, are caught.
The copy stays in respeed's folder of the user's cache, with what is compiled there.
"""

import argparse
import fcntl
import hashlib
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from respeed.paths import private_folder
from tests.planted.clock import LIMIT, OVER
from tests.planted.cover import LIMIT_SECONDS, Cover, make_cover
from tests.planted.fresh import draw
from tests.planted.mistakes import PACKAGE, Mistake, find, nodes_for, read_mistakes, write

ROOT = PACKAGE.parents[1]
FOLDER = private_folder("planted") / hashlib.sha1(str(ROOT).encode()).hexdigest()[:12]
# Of what takes several times as long as it should, a loop does not end.
HANGS_SECONDS = 4 * LIMIT_SECONDS
CAUGHT_SHARE = 0.95
stamps = itertools.count(int(time.time()))


def files_of_git(*command: str) -> list[str]:
    done = subprocess.run(["git", *command], cwd=ROOT, check=True, text=True, capture_output=True)
    return done.stdout.splitlines()


def copy_project(copy: Path) -> Path:
    """Make a copy what the project is now: what git knows, and what is new."""
    names = {name for name in files_of_git("ls-files", "-co", "--exclude-standard") if (ROOT / name).is_file()}
    for name in names:
        old, new = ROOT / name, copy / name
        if not new.exists() or old.read_bytes() != new.read_bytes():
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(old, new)
    for path in [*(copy / "workflow").rglob("*.*"), *(copy / "tests").rglob("*.*")]:
        if path.is_file() and path.suffix != ".pyc" and str(path.relative_to(copy)) not in names:
            path.unlink()
    return copy


def environment_of(copy: Path) -> dict[str, str]:
    """Return the environment of tests of a copy."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    return inherited | {"PYTHONPATH": str(copy / "workflow"), "PYTHONDONTWRITEBYTECODE": "1", LIMIT: str(LIMIT_SECONDS)}


def judge(mistakes: Sequence[Mistake], copy: Path, cover: Cover) -> int:
    """Say of each mistake which test of the copy caught it; return how many are caught."""
    caught = 0
    for mistake in mistakes:
        began, failed = time.monotonic(), look_for(mistake, copy, cover)
        says = f"caught by {failed}" if failed else f"MISSED in {LIMIT_SECONDS:.0f} s"
        print(f"{mistake}\n    {says} ({time.monotonic() - began:.0f} s)", flush=True)
        caught += bool(failed)
    return caught


def look_for(mistake: Mistake, copy: Path, cover: Cover) -> str:
    """Return which test fails of the copy with the mistake; empty if none does."""
    original, spot = find(mistake)
    tests = mistake.tests or cover.choose(original, spot)
    if not tests:
        return ""
    path = copy / original.relative_to(ROOT)
    right, times = path.read_bytes(), path.stat()
    path.write_text(write(original, spot, nodes_for(spot, mistake.new)), encoding="utf-8")
    # A mistake of the same length, planted within a second, would be taken for what was compiled before it.
    os.utime(path, (next(stamps),) * 2)
    options = ["-xq", "-n0", "-pno:cacheprovider", "-ptests.planted.clock", f"--basetemp={copy}.tests"]
    options.append("--hypothesis-profile=planted")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests], cwd=copy, env=environment_of(copy), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=HANGS_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"not done in {HANGS_SECONDS:.0f} s"
    finally:
        path.write_bytes(right)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    if done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED or "ERROR: not found" in done.stdout:
        sys.exit(f"no such test: {' '.join(tests)}; remove {FOLDER}/lines.json, or mend what mistakes.txt names")
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if failed:
        return failed[1]
    return "an import" if done.returncode and OVER not in done.stdout else ""


def choose_written(files: Sequence[str], some: int) -> list[Mistake]:
    every = read_mistakes("mistakes.txt")
    if some:
        return random.sample(every, min(some, len(every)))
    package = f"{PACKAGE.relative_to(ROOT)}/"
    changed = {name.removeprefix(package) for name in files_of_git("diff", "--name-only", "HEAD")}
    return [mistake for mistake in every if mistake.file in (files or changed)]


def choose_fresh(count: int, seed: int, cover: Cover) -> list[Mistake]:
    """Draw mistakes; print those among them that change nothing, and leave them out."""
    known = {mistake._replace(tests=()) for mistake in read_mistakes("equivalent.txt")}
    drawn = list(itertools.islice(draw(cover.lines_to_draw(), seed), count))
    for mistake in known.intersection(drawn):
        print(f"{mistake}\n    equivalent")
    return [mistake for mistake in drawn if mistake not in known]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.planted")
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--some", type=int, default=0)
    parser.add_argument("--fresh", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    is_fresh = asked.fresh > 0
    written = [] if is_fresh else choose_written(asked.files, asked.some)
    if lacking := set(asked.files) - {mistake.file for mistake in written}:
        parser.error(f"mistakes.txt has none of {', '.join(sorted(lacking))}")
    lock = (FOLDER.parent / f"{FOLDER.name}.lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)  # until this process ends: two that plant in one copy would catch each other's
    copies = [copy_project(FOLDER / f"copy-{number}") for number in range(asked.jobs)]
    cover = make_cover(copies[0], FOLDER / "lines.json", environment_of(copies[0]))
    chosen = choose_fresh(asked.fresh, asked.seed, cover) if is_fresh else written
    with ThreadPoolExecutor(asked.jobs) as pool:
        parts = [chosen[number :: asked.jobs] for number in range(asked.jobs)]
        caught = sum(pool.map(judge, parts, copies, [cover] * asked.jobs))
    print(f"{caught} of {len(chosen)} mistakes are caught")
    return int(caught < (CAUGHT_SHARE if is_fresh else 1) * len(chosen))


if __name__ == "__main__":
    sys.exit(main())
