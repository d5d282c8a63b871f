"""Records of machines that measured everything a paper has, to draw figures of, and what a figure shows and where."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

from respeed.figures.style import STAMP_TEXT
from respeed.inputs.machines import Profile, load_profiles
from respeed.inputs.papers import load_papers
from respeed.records import case_key, write_description
from respeed.schedule.work import cases_of
from tests.known import assert_known
from tests.made import description, make_lines, write_lines

CPU = ("openblas-1", "openblas-all", "torch-1", "torch-all")
ALL = (*CPU, "gpu", "gpu-tf32", "gpu-bf16", "gpu-fp16")
DOUBLE = ("openblas-1-fp64", "openblas-all-fp64")
# FLOP a second.
RATES = dict(zip(ALL, (1.0e11, 1.8e11, 1.2e11, 2.2e11, 2e13, 5e13, 9e13, 9.1e13), strict=True))
RATES |= dict(zip(DOUBLE, (5e10, 9e10), strict=True))
PROFILES = load_profiles()
# Points that the white around letters may overlap.
SLACK = 0.5


def write_machine(
    profiles: Sequence[str], *, machine: str = "box", label: str = "", rounds: int = 6, paper: str = "raina2009"
) -> None:
    """Write all rounds of a machine in the working directory; `label` stands in front of every row's."""
    write_description(machine, False, description())
    for name in profiles:
        profile = replace(PROFILES[name], label=label + PROFILES[name].label)
        write_row(profile, RATES[name], machine=machine, rounds=rounds, paper=paper)


def write_row(
    profile: Profile, rate: float, *, machine: str = "box", rounds: int = 6, paper: str = "raina2009"
) -> None:
    """Write all rounds of a row: each case costs what its sizes say, each time a little else."""
    row = {
        "profile": profile.name, "label": profile.label, "package": profile.package, "backend": profile.backend,
        "architecture": profile.architecture, "device": profile.device, "precision": profile.precision,
        "threads": profile.threads if profile.threads != "all" else 2, "ladder": profile.ladder,
    }  # fmt: skip
    tables = [one for one in load_papers([paper])[paper].experiments.values() if one.ladder == profile.ladder]
    runs = {case_key(case.workload, case.parameters): (place, case)
            for one in tables for place, case in enumerate(cases_of(one, profile))}  # fmt: skip
    for number in range(1, rounds + 1):
        made = []
        for place, case in runs.values():
            work, counted = 2e9 * (1 + place), not case.workload.startswith("sparse")
            told = {"flops": work, "traffic_bytes": 1e6} if counted else {"flops": None, "traffic_bytes": None}
            seconds = [work / rate * (1 + 0.01 * number)] * 2
            made.append(make_lines(seconds, number=number, case=case, peak=1.5 * rate, **row, **told))
        if made:
            write_lines(made[0][0], *(result for _, result in made), machine=machine)


def words_of(figure: Figure) -> list[Text]:
    """Every text that can be read, but for the stamp, which lies behind all."""
    figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text)]
    return [text for text in texts if text.get_visible() and text.get_text().strip() and text.get_text() != STAMP_TEXT]


def assert_legible(figure: Figure, name: object = "") -> None:
    """No text lies on another, or is cut by the edge of the page. Of names that lean the boxes are larger than they."""
    words, page = [text for text in words_of(figure) if text.get_rotation() % 90 == 0], figure.bbox
    boxes = [(text.get_text(), text.get_window_extent().padded(-SLACK)) for text in words]
    for (first, one), (second, other) in combinations(boxes, 2):
        assert not one.overlaps(other), f"{name}: {first!r} and {second!r}"
    for text, box in boxes:
        assert page.x0 <= box.x0 <= box.x1 <= page.x1, f"{name}: {text!r}"
        assert page.y0 <= box.y0 <= box.y1 <= page.y1, f"{name}: {text!r}"


def describe(figure: Figure) -> Iterator[str]:
    """All that a figure shows, numbers with three digits, in the order in which it was drawn."""

    def shown(numbers: Any) -> str:
        return " ".join(f"{one:.3g}" for one in np.ravel(numbers))

    axes = figure.axes[0]
    yield f"{shown(figure.get_size_inches())}: {[name for name, one in axes.spines.items() if one.get_visible()]}"
    for axis in (axes.xaxis, axes.yaxis):
        if not axis.get_ticklabels():
            continue
        ticks, grid = axis.get_ticklabels(), axis.get_gridlines()[0].get_visible()
        yield f"{axis.get_label_text()!r} {axis.get_scale()} {shown(axis.get_view_interval())} {grid=}"
        yield f"  {ticks[0].get_rotation():g} {ticks[0].get_ha()}: {[one.get_text() for one in ticks]}"
    for line in axes.get_lines():
        name = line.get_label() if line in axes.get_legend_handles_labels()[0] else ""
        look = (
            line.get_color(),
            line.get_marker(),
            line.get_markerfacecolor(),
            line.get_linestyle(),
            line.get_markersize(),
        )
        yield f"{name!r} {look} {line.get_linewidth():g} {line.get_zorder():g}: {shown(line.get_xydata())}"
    for bars in axes.collections:
        yield f"{to_hex(bars.get_color()[0])} {bars.get_linewidth()[0]:g}: {shown(bars.get_segments())}"
    for text in chain(figure.texts, axes.texts, *(key.get_texts() for key in figure.legends)):
        place = shown(text.get_position()[: 1 + (text in axes.texts)])
        look = f"{text.get_color()} {text.get_size():.3g} {text.get_weight()} {text.get_ha()}"
        yield f"{text.get_text()!r} {look} {place}"


def assert_drawn(figure: Figure, name: str) -> None:
    assert_known(Path(__file__).parent / f"drawn/{name}.txt", "\n".join([*describe(figure), ""]))
