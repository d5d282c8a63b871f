"""The FLOP and bytes of a step of each case, as its workload counts them in a process of its own."""

import contextlib
import hashlib
import json
import subprocess
import sys
from collections.abc import Collection
from functools import cache

from respeed.analysis.expected import Counts
from respeed.inputs.registry import workloads
from respeed.model import Case
from respeed.paths import private_folder, write_text

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
    counted = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if missing := [key for key, name in names.items() if name not in counted]:
        command = [sys.executable, "-P", "-m", "respeed.cli", "count"]
        with contextlib.suppress(subprocess.SubprocessError, ValueError):
            counting = subprocess.run(
                command,
                input=json.dumps([json.loads(key) for key in missing]),
                capture_output=True,
                text=True,
                check=True,
                timeout=COUNT_SECONDS,
            )
            counts = json.loads(counting.stdout)
            counted.update(zip([names[key] for key in missing], counts, strict=True))
            write_text(path, json.dumps(counted))
    return {key: tuple(counted[name]) for key, name in names.items() if name in counted}
