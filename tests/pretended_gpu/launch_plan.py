"""What a step asks of a CUDA device, for each workload and precision.

`python -m tests.pretended_gpu.launch_plan` writes docs/launches.csv and docs/launches.svg. It needs no GPU.
"""

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from respeed.inputs.registry import workloads
from respeed.records.store import write_text
from tests.pretended_gpu.environment import ROOT, environment

# Its convolutions are of a library that is not pretended, or its replicas processes of their own.
LEFT_OUT = {"convnet", "convnet_replicas", "data_parallel"}
COLUMNS = ("workload", "precision", "between", "kernels", "products", "copies", "elementwise_bytes")
WORKLOADS = tuple(
    sorted(name for name, facts in workloads().items() if "torch" in facts.backends and name not in LEFT_OUT)
)
PLAN, FIGURE = ROOT / "docs" / "launches.csv", ROOT / "docs" / "launches.svg"
Line = dict[str, Any]


def counted_lines(workloads: Sequence[str] = WORKLOADS) -> list[Line]:
    """Counted now, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.pretended_gpu.launches", *workloads],
        cwd=ROOT, env=os.environ | environment(), text=True, capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise AssertionError(f"exit status {done.returncode}\n{done.stderr[-5000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def told_lines() -> Iterator[Line]:
    """Those of the file."""
    for line in csv.DictReader(PLAN.read_text().splitlines()):
        yield {name: value if name in COLUMNS[:3] else int(value) for name, value in line.items()}


def as_csv(lines: Sequence[Line]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


if __name__ == "__main__":
    from tests.pretended_gpu.launch_figure import draw_launches

    found = counted_lines()
    write_text(PLAN, as_csv(found))
    draw_launches(found, FIGURE)
