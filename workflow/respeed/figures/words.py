"""What figures say of themselves: a title, how to read it, and what a factor of 1 is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from respeed.analysis.labels import label_row, words_of_unit
from respeed.model.paper import SECONDS, Experiment, Paper, PublishedRow
from respeed.tables.shown_speedups import ALL_CORES_OVER_ONE, CASE_OVER_FIRST, OVER_THEIR_DEVICE, ShownSpeedups


@dataclass(frozen=True)
class Words:
    """`base` names what lies at 1, where there is such a thing."""

    title: str
    note: str
    base: str = ""


def has_rates(paper: Paper, experiment: Experiment) -> bool:
    """Whether GFLOP/s are shown in place of seconds: where these are of single steps, whose sizes nobody compares."""
    return experiment.unit == SECONDS and not experiment.is_extrapolated and not paper.prints(experiment.name)


def words_of_seconds(
    paper: Paper, experiment: Experiment, machine: str, spreads: Mapping[str, Any], theirs: bool
) -> Words:
    """Of the figure <machine>-seconds; with or without rows of `theirs`."""
    if has_rates(paper, experiment):
        note = f"GFLOP/s on {machine}. Thin lines: the highest rate of any bare product on the same row."
        return Words(f"{experiment.title}: rates", note)
    where = f"on {machine}, and in the paper (grey)" if theirs else f"on {machine}"
    what = words_of_unit(experiment)
    note = f"{what[0].upper()}{what[1:]} {where}.{_derived(experiment, theirs)}"
    note += _many(spreads, "the fastest row")
    return Words(f"{experiment.title}: {experiment.unit.name}", note)


def words_of_speedup(paper: Paper, experiment: Experiment, machine: str, shown: ShownSpeedups) -> Words:
    """Of the figure <machine>-speedup."""
    if shown.kind == ALL_CORES_OVER_ONE:
        note = f"How many times as fast all cores of {machine} are as one, with the same package."
        return Words(f"{experiment.title}: what all cores bring", note, "one core")
    if shown.kind == CASE_OVER_FIRST:
        note = f"How many times as fast as {shown.first}, on the same row of {machine}."
        return Words(f"{experiment.title}: over {shown.first}", note, shown.first)
    if shown.kind == OVER_THEIR_DEVICE and shown.device:
        device = label_row(paper, shown.device)
        note = f"How many times as fast as the paper's {_device(device, shown.device)}: "
        note += f"{machine}, and the paper's other rows (grey)."
        note += _derived(experiment, True)
        title = f"{experiment.title}: {machine} over the paper's {device}"
        return Words(title, note + _many(shown.spreads, "the fastest row"), f"{device}, {shown.device.year}")
    where = f"on {machine}, and in the paper (grey)" if shown.theirs else f"on {machine}"
    note = f"How many times as fast a GPU is as the fastest CPU row: {where}."
    note += _derived(experiment, bool(shown.theirs)) + _many(shown.spreads, "GPUs")
    return Words(f"{experiment.title}: GPU over CPU", note, "fastest CPU row")


def _derived(experiment: Experiment, theirs: bool) -> str:
    """A total is printed nowhere."""
    return " The paper's total is worked out from its rates at other sizes." if theirs and experiment.total else ""


def _device(label: str, device: PublishedRow) -> str:
    return f"{label}, a {device.hardware.label}" if device.hardware else label


def _many(spreads: Mapping[str, Any], what: str) -> str:
    machines = max((one.machines for one in spreads.values()), default=0)
    return f" Pale bars: {what} of {machines} machines, range, middle half and median." if machines else ""
