"""What a machine says of the hardware profiles: which it can run, on how many threads. Kept in its description, it is
what another machine, such as the head of a cluster, plans with."""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from respeed.errors import NotMeasurable, UserError
from respeed.inputs.profiles import Profile
from respeed.records.store import read_json
from respeed.schedule.availability import resolve_threads

# The threads of a profile and the CPUs to run on; NotMeasurable where the machine cannot run it.
Resolve = Callable[[Profile], tuple[int, tuple[int, ...]]]


def answers_here(profiles: Mapping[str, Profile]) -> dict[str, dict[str, Any]]:
    """For the description: of each profile its threads, or why not, and what the profile was when it was asked."""
    return {name: {"asked": checksum(profile)} | _answer(profile) for name, profile in profiles.items()}


def _answer(profile: Profile) -> dict[str, Any]:
    try:
        return {"threads": resolve_threads(profile)[0]}
    except NotMeasurable as reason:
        return {"reason": str(reason)}


def checksum(profile: Profile) -> str:
    """Changes whenever the profile does, but for what it is called."""
    facts = asdict(profile)
    del facts["label"], facts["package"]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


class Answers:
    """The answers of one machine; none, where it was not asked yet."""

    def __init__(self, answers: Mapping[str, Mapping[str, Any]]) -> None:
        self._answers = answers

    def know(self, profiles: Collection[Profile]) -> bool:
        """Whether it was asked about each of these, as they are now."""
        return all(self._answers.get(one.name, {}).get("asked") == checksum(one) for one in profiles)

    def resolve(self, profile: Profile) -> tuple[int, tuple[int, ...]]:
        """As `resolve_threads` on that machine; its CPUs are its own affair."""
        answer = self._answers[profile.name]
        if reason := answer.get("reason"):
            raise NotMeasurable(reason)
        return answer["threads"], ()


def read_answers(path: Path) -> Answers:
    """The answers in the machine's description `path`; none where there is no description, or a damaged one."""
    try:
        found = read_json(path)["profiles"] if path.exists() else {}
        return Answers({name: dict(answer) for name, answer in found.items()})
    except (UserError, KeyError, TypeError, ValueError, AttributeError):
        return Answers({})
