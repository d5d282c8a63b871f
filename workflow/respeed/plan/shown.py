"""Which papers and profiles tables, figures and the report are about."""

import sys
from collections.abc import Collection

from respeed.load.config import load_config
from respeed.load.hardware import read_profiles
from respeed.load.papers import load_papers, paper_names, read_paper
from respeed.model.paper import Paper
from respeed.model.profile import Profile
from respeed.record.files import recorded_papers


def papers_shown(smoke: bool, chosen: Collection[str] | None = None) -> dict[str, Paper]:
    """The `chosen` papers, by default those of config.yaml, and then every other that there are records of.

    UserError if one that was chosen is not valid; another is left out with a line.
    """
    papers = load_papers(load_config().papers if chosen is None else chosen)
    for name in recorded_papers(smoke):
        if name in paper_names() and name not in papers:
            paper, mistakes = read_paper(name)
            if paper is None:
                print(f"respeed: {name} is left out: {mistakes[0]}", file=sys.stderr)
            else:
                papers[name] = paper
    return papers


def profiles_shown(chosen: Collection[str] = ()) -> dict[str, Profile]:
    """All whose files are right. UserError if one that was `chosen` is not; another is left out with a line."""
    profiles, wrong = read_profiles()
    for name, mistakes in wrong.items():
        if name in chosen:
            mistakes.raise_any()
        print(f"respeed: the profile {name} is left out: {mistakes[0]}", file=sys.stderr)
    return profiles
