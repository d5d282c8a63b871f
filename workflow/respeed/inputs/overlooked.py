"""Files that look like ours and are not read, because their names end otherwise."""

from pathlib import Path

from respeed.inputs.files import from_here
from respeed.paths import HARDWARE, MACHINES, PAPERS

# How others end the names of YAML files.
ENDINGS = (".yml", ".YAML", ".YML")


def overlooked(hardware: Path = HARDWARE, machines: Path = MACHINES, papers: Path = PAPERS) -> list[str]:
    """A line for each."""
    found = [path for folder in (hardware, machines) for path in folder.glob("*")]
    found += papers.glob("*/paper.*")
    return [
        f"{from_here(path)}: is not read, because of its name; rename it to {path.stem}.yaml"
        for path in sorted(found)
        if path.suffix in ENDINGS
    ]
