"""docs/launches.svg: the kernels of a step, by torch's operations and by Triton's."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt

from respeed.figures.style import COLORS, WIDTH, set_look
from respeed.records.store import write_text

LABELS = {"torch": "torch's operations", "triton": "Triton's kernels"}
ROW, AROUND = 0.3, 0.8  # inches


def draw_launches(lines: Sequence[Mapping[str, Any]], path: Path) -> None:
    """In fp32, of workloads that have any; the most at the top."""
    kernels = {(line["workload"], line["between"]): line["kernels"] for line in lines if line["precision"] == "fp32"}
    most = {name: max(kernels[name, way] for way in LABELS) for name, _ in kernels}
    names = sorted((name for name in most if most[name]), key=lambda name: (most[name], name))
    set_look()
    figure, axes = plt.subplots(figsize=(WIDTH, ROW * len(names) + AROUND), layout="constrained")
    for number, (way, label) in enumerate(LABELS.items()):
        places = [place + 0.2 - 0.4 * number for place in range(len(names))]
        bars = axes.barh(places, [kernels[name, way] for name in names], 0.36, label=label, color=COLORS[number])
        axes.bar_label(bars, padding=3, fontsize=8)
    axes.set_yticks(range(len(names)), names)
    axes.set_xscale("log")
    axes.set_xlim(0.9, 2 * max(most.values()))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("kernels a step beside the products, fp32, at the odd test case")
    axes.grid(visible=False, axis="y")
    axes.legend(loc="lower right", frameon=False)
    text = io.StringIO()
    # Letters as outlines: as wide in every browser as they were laid out.
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "launches"}):
        figure.savefig(text, format="svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
    write_text(path, text.getvalue())
