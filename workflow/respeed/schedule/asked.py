"""Which of several measurements of one place the tables show: the one that this checkout would make, if it is there."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from respeed.errors import NotMeasurable, UserError
from respeed.inputs.config import load_config
from respeed.model.paper import Paper
from respeed.paths import description_path
from respeed.schedule.answers import read_answers
from respeed.schedule.spec import Digests

Place = tuple[str, str, str, bool, bool]


def choose_asked(
    machine: str, smoke: bool, records: Sequence[dict[str, Any]], papers: Mapping[str, Paper]
) -> list[dict[str, Any]]:
    """The machine's records without those that were measured otherwise (other sizes, threads, timing, seed) than this
    checkout would, where some of the same place were not. Where all were, all stay: of them the latest are shown."""
    there: dict[Place, set[str]] = defaultdict(set)
    for record in records:
        there[_place(record)].add(record["digest"])
    asked = {place: _asked(machine, smoke, place, papers) for place, digests in there.items() if len(digests) > 1}
    chosen = {place: digest for place, digest in asked.items() if digest in there[place]}
    return [one for one in records if chosen.get(_place(one), one["digest"]) == one["digest"]]


def _place(record: dict[str, Any]) -> Place:
    where = record["id"]
    return where["paper"], where["experiment"], where["profile"], where["whole"], where["smoke"]


def _asked(machine: str, smoke: bool, place: Place, papers: Mapping[str, Paper]) -> str | None:
    """The digest that the machine's records of the place would have now; None where that cannot be told."""
    answers = read_answers(description_path(machine, smoke))
    try:
        return Digests(load_config(strict=False).seed, papers, answers.resolve).of(*place)
    except (UserError, NotMeasurable, KeyError):
        return None
