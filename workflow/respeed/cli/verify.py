"""respeed verify: whether records are what they were when they were written."""

from pathlib import Path

from respeed.paths import records_folder
from respeed.records.transfer import verify


def verify_records(path: Path | None, smoke: bool) -> bool:
    """Print a line for each file that is not right, for each machine that has some without a checksum, and for all;
    whether all are right."""
    found = verify(path or records_folder(smoke))
    for line in [*found.wrong, *found.strange]:
        print(line)
    for machine, count in sorted(found.unchecked.items()):
        if count:
            print(f"{machine}: {count} without a checksum: nothing tells whether they were changed")
    files, wrong, unchecked = found.files.total(), len(found.wrong), found.unchecked.total()
    machines = f"{len(found.files)} machine{'s' * (len(found.files) != 1)}"
    counts = [f"{files - wrong - unchecked} hold"]
    counts += [f"{unchecked} without a checksum"] if unchecked else []
    counts += [f"{wrong} not right"] if wrong else []
    print(f"{files} file{'s' * (files != 1)} of {machines}: {', '.join(counts)}")
    return found.is_right
