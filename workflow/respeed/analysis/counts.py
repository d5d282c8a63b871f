"""The FLOP and bytes of a step of each case, as its workload counts them in a process of its own."""

import contextlib
import hashlib
import json
import math
import subprocess
import sys
from collections.abc import Collection
from functools import cache
from typing import Any

from respeed.analysis.expected import Counts
from respeed.errors import UserError
from respeed.inputs.registry import workloads
from respeed.machine.process import child_environment
from respeed.model import Case
from respeed.paths import private_folder, read_kept, write_text

# To count the layers of all nets of all papers takes 10 s; a process that is stuck would never end.
COUNT_SECONDS = 600.0


@cache
def digest_of(workload: str) -> str:
    """Return the checksum of a workload's file."""
    return hashlib.sha256(workloads()[workload].file.read_bytes()).hexdigest()


def count_cases(cases: Collection[Case]) -> Counts:
    """Return, by the case's key, the FLOP and bytes of a step of each case, as its workload counts them.

    A separate process counts them, because importing workloads takes seconds, and runs files that users have added. The
    counts are kept until the workload's file changes. An unknown count is NaN; if that process fails, the cases that it
    was to count are left out.
    """
    names = {}
    for case in cases:
        names[case.key] = f"{digest_of(case.workload)} {case.key}"
    path = private_folder("counts") / "counts.json"
    counted = {name: pair for name, pair in read_kept(path).items() if _is_pair(pair)}
    if missing := [key for key, name in names.items() if name not in counted]:
        command = [sys.executable, "-P", "-m", "respeed.cli", "count"]
        with contextlib.suppress(subprocess.SubprocessError, ValueError, UserError):  # the last: they cannot be kept
            counting = subprocess.run(
                command,
                input=json.dumps([json.loads(key) for key in missing]),
                stdout=subprocess.PIPE,
                text=True,
                check=True,
                timeout=COUNT_SECONDS,
                env=child_environment(1),
            )
            counts = json.loads(counting.stdout)
            counted.update(zip([names[key] for key in missing], counts, strict=True))
            counted_here = {name: pair for name, pair in counted.items() if not all(map(math.isnan, pair))}
            write_text(path, json.dumps(counted_here))
    return {key: tuple(counted[name]) for key, name in names.items() if name in counted}


def _is_pair(value: Any) -> bool:
    """Return whether a value that was kept can be the FLOP and bytes of a case."""
    return isinstance(value, list) and len(value) == 2 and all(isinstance(number, int | float) for number in value)
