"""Which results are shown: the papers and machines that configuration or command line name."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from respeed.inputs.config import ALL, THIS, load_config
from respeed.inputs.papers import PAPER_FILES, load_papers, paper_names
from respeed.model import Paper
from respeed.records import recorded_machines


@dataclass(frozen=True)
class Asked:
    """Which results are to be shown.

    Attributes
    ----------
    smoke : bool
        Whether those of tiny cases.
    machine : str or None
        The name of this machine; None if it is that of config.yaml, or made from the hardware.
    papers : collection of str or None
        The papers; None for those of config.yaml.
    show : sequence of str
        The machines (see `machines_shown`); empty for those of config.yaml.
    """

    smoke: bool
    machine: str | None = None
    papers: Collection[str] | None = None
    show: Sequence[str] = ()


def papers_shown(smoke: bool, chosen: Collection[str] | None = None, *, strict: bool = False) -> dict[str, Paper]:
    """Return the `chosen` papers, by default those of config.yaml.

    A paper that is not valid is left out, with a message. Raises UserError if no paper is left, if a chosen name has no
    paper, or, if `strict`, if a chosen paper is not valid.
    """
    names = load_config().papers if chosen is None else tuple(chosen)
    must_be_valid = set(names) if strict else set(names) - set(paper_names())
    papers = PAPER_FILES.load_all(names, must_be_valid) or load_papers(names)
    if smoke:
        return {name: paper.at_tiny_sizes() for name, paper in papers.items()}
    return papers


def machines_shown(smoke: bool, machine: str | None = None, show: Sequence[str] = ()) -> list[str]:
    """Return the names of the machines to show, of those that have records.

    Parameters
    ----------
    smoke : bool
        Whether the records are of tiny cases.
    machine : str, optional
        The name of this machine, by default as in config.yaml, or made from the hardware.
    show : sequence of str, optional
        Names, THIS for this machine and ALL for every machine; by default `show` of config.yaml. If no machine that is
        named has records, every machine is shown.
    """
    recorded = recorded_machines(smoke)
    local = machine or load_config().this_machine
    names = [local if name == THIS else name for name in show or load_config().show]
    if ALL in names or not any(recorded.get(name) for name in names):
        names = [local, *sorted(recorded)]
    return [name for name in dict.fromkeys(names) if name in recorded]
