"""Which papers, profiles and machines a run, and tables, figures and the report are about."""

import sys
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from respeed.inputs.config import Config, load_config
from respeed.inputs.forms import Mistakes
from respeed.inputs.machines import Told, read_told, told_machines
from respeed.inputs.papers import load_papers, paper_names, read_paper
from respeed.inputs.profiles import Profile, read_profiles
from respeed.model.paper import Paper
from respeed.records.store import recorded_papers
from respeed.text import visible


def read_choice(overrides: Mapping[str, Any], *, measures: bool) -> tuple[Config, dict[str, Paper], dict[str, Profile]]:
    """The configuration, the papers that are shown, the chosen ones first, and the profiles.

    What a run `measures` must be right: UserError if not. Another run leaves out what is wrong, with a line.
    """
    config = load_config(overrides=overrides, strict=measures)
    papers = papers_shown(config.preset.is_smoke, config.papers, strict=measures)
    profiles = profiles_shown(config.profiles if measures else ())
    if not measures:
        config = replace(
            config,
            papers=tuple(name for name in config.papers if name in papers),
            profiles=tuple(name for name in config.profiles if name in profiles),
        )
    return config, papers, profiles


def papers_shown(smoke: bool, chosen: Collection[str] | None = None, *, strict: bool = False) -> dict[str, Paper]:
    """The `chosen` papers, by default those of config.yaml, and then every other that there are records of.

    One that is not valid is left out with a line. UserError if none is left, if there is none of a chosen name, or,
    where it is `strict`, if one of those that were chosen is not valid.
    """
    names = load_config(strict=False).papers if chosen is None else tuple(chosen)
    known, mistakes = paper_names(), Mistakes()
    papers = load_papers(name for name in names if strict or name not in known)
    for name in dict.fromkeys([*names, *recorded_papers(smoke)]):
        if name in known and name not in papers:
            paper, found = read_paper(name)
            mistakes += found
            if paper is None:
                _leave_out(name, found)
            else:
                papers[name] = paper
    if not papers:
        mistakes.raise_any()
    return papers


def profiles_shown(chosen: Collection[str] = ()) -> dict[str, Profile]:
    """All whose files are right. UserError if one that was `chosen` is not; another is left out with a line."""
    profiles, wrong = read_profiles()
    for name, mistakes in wrong.items():
        if name in chosen:
            mistakes.raise_any()
        _leave_out(f"the profile {name}", mistakes)
    return profiles


def told_shown() -> dict[str, Told]:
    """What is told of machines, by machine; a file that is not right is left out with a line."""
    found = {}
    for machine in told_machines():
        told, mistakes = read_told(machine)
        if told:
            found[machine] = told
        else:
            _leave_out(f"what is told of {machine}", mistakes)
    return found


def _leave_out(what: str, mistakes: Mistakes) -> None:
    print(visible(f"respeed: {what} is left out: {mistakes[0]}"), file=sys.stderr)
