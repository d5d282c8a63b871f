"""respeed check: every mistake in every file that people write, at once."""

from respeed.load.config import check_config
from respeed.load.hardware import profile_names, read_profile
from respeed.load.machines import read_told, told_machines
from respeed.load.mistakes import Mistakes
from respeed.load.papers import check_folders, paper_names, read_paper


def check_files() -> bool:
    """Print a line for each mistake in config.yaml, the hardware profiles, the papers and workflow/machines;
    True if there is none."""
    mistakes = Mistakes(check_config())
    profiles: tuple[str, ...] = ()
    with mistakes.collecting():
        profiles = profile_names()
    machines: tuple[str, ...] = ()
    with mistakes.collecting():
        machines = told_machines()
    papers = paper_names()
    mistakes += check_folders()
    for profile in profiles:
        mistakes += read_profile(profile)[1]
    for machine in machines:
        mistakes += read_told(machine)[1]
    for paper in papers:
        mistakes += read_paper(paper)[1]
    for line in mistakes:
        print(line)
    if not mistakes:
        print(f"no mistake in config.yaml, {len(profiles)} hardware profiles, and papers: {', '.join(papers)}")
    return not mistakes
