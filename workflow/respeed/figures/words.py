"""What figures say of themselves: title, how to read it, and the text for those who do not see it."""

from dataclasses import dataclass

from respeed.model.paper import Architecture, Experiment
from respeed.tables.shown_speedups import ALL_CORES_OVER_ONE, DEVICE_OVER_CPU, ShownSpeedups
from respeed.tables.spread import Spread

HOW = "Thick bars: 95 % intervals."
ROUNDS = "Faint points: single rounds."
PALE = "Pale: rows that are slower than another one with the same algorithm."


@dataclass(frozen=True)
class Words:
    """`base` names what a factor of 1 is."""

    title: str
    note: str
    base: str = ""

    @property
    def alt(self) -> str:
        """For those who do not see the figure."""
        return f"Chart: {self.title}. {self.note} Its numbers are in the tables."


def has_rates(experiment: Experiment) -> bool:
    """Whether rates are shown in place of seconds: where these are of single steps, of sizes that nobody compares."""
    return experiment.examples is None


def words_of_seconds(
    experiment: Experiment, machine: str, spreads: dict[str, Spread], pale: bool, theirs: bool
) -> Words:
    """Of the figure <machine>-seconds."""
    notes = [f"On {machine}{', the paper’s rows in grey' if theirs else ''}."]
    if has_rates(experiment):
        title = f"{experiment.title}: rates"
        notes.insert(0, "GFLOP/s of a step. Thin lines: the highest rate of any bare product on the same row.")
    else:
        title = f"{experiment.title}: seconds"
        notes.insert(0, f"Seconds for {experiment.examples:,} examples.")
    return Words(title, " ".join([*notes, HOW, ROUNDS, *([PALE] if pale else []), *_many(spreads, "fastest row")]))


def words_of_speedup(experiment: Experiment, machine: str, year: int, shown: ShownSpeedups, pale: bool) -> Words:
    """Of the figure <machine>-speedup."""
    spreads, end = shown.spreads, [HOW, *([PALE] if pale else [])]
    if shown.kind == ALL_CORES_OVER_ONE:
        title = f"{experiment.title}: what all cores bring"
        note = f"How many times as fast all cores of {machine} are as one, with the same package."
        return Words(title, " ".join([note, *end]), "one core")
    if shown.kind == DEVICE_OVER_CPU or shown.device is None:
        title = f"{experiment.title}: GPU over CPU"
        theirs = ", and in the paper (grey)" if shown.theirs else ""
        note = f"How many times as fast a GPU is as the fastest CPU row: on {machine}{theirs}."
        return Words(title, " ".join([note, *end, *_many(spreads, "accelerators")]), "fastest CPU row")
    name, where = _device(shown.device), f"{machine} is" if shown.ours else "rows are"
    title = f"{experiment.title}: this machine over the paper’s {shown.device.label}"
    note = f"How many times as fast {where} as the paper’s {name}; the paper’s own CPU rows in grey."
    return Words(title, " ".join([note, *end, *_many(spreads, "fastest row")]), f"{shown.device.label}, {year}")


def _device(device: Architecture) -> str:
    return f"{device.label}, a {device.hardware.label}" if device.hardware else device.label


def _many(spreads: dict[str, Spread] | object, what: str) -> list[str]:
    if not isinstance(spreads, dict) or not spreads:
        return []
    machines = max(one.machines for one in spreads.values())
    return [f"Pale bars: {what} of {machines} machines, range, middle half and median."]
