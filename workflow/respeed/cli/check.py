"""respeed check: every mistake in every file that people write, at once."""

from respeed.inputs.config import check_config
from respeed.inputs.files import overlooked
from respeed.inputs.forms import Mistakes
from respeed.inputs.machines import read_told, told_machines
from respeed.inputs.papers import check_folders, paper_names, read_paper
from respeed.inputs.profiles import read_profiles
from respeed.inputs.registry import broken_files
from respeed.text import visible


def check_files() -> bool:
    """Print a line for each mistake in config.yaml, the hardware profiles, the papers, workflow/machines, and in what
    workloads and backends say of themselves; True if there is none."""
    mistakes = Mistakes(check_config())
    profiles, wrong = read_profiles()
    machines, papers = told_machines(), paper_names()
    mistakes += check_folders()
    for found in wrong.values():
        mistakes += found
    for machine in machines:
        mistakes += read_told(machine)[1]
    for paper in papers:
        mistakes += read_paper(paper)[1]
    mistakes += [*broken_files(), *overlooked()]
    for line in mistakes:
        print(visible(line))
    if not mistakes:
        print(f"no mistake in config.yaml, {len(profiles)} hardware profiles, and papers: {', '.join(papers)}")
    return not mistakes
