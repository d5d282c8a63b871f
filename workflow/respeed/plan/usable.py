"""Is the record of a planned round one that this run would make?"""

from pathlib import Path

from respeed.model.errors import UserError
from respeed.record.files import read_record

SET_ASIDE = ".set-aside"


def why_unusable(path: Path, digest: str) -> str | None:
    """Why the record at `path` must be made anew: damaged, of another measurement, without a time. None if good."""
    try:
        record = read_record(path)
    except UserError as error:
        return str(error)
    if record["digest"] != digest:
        return f"{path}: was measured with other sizes, threads, timing or seed"
    # What could not run may be able to by now: a driver was mended, memory is free again. What was wrong stays wrong.
    if all(case["status"] in {"not-run", "failed"} for case in record["cases"]):
        return f"{path}: has no time: {record['cases'][0]['reason']}"
    return None


def set_aside(path: Path, digest: str) -> str | None:
    """Rename the record at `path` if it cannot be used, so that it is made anew; returns why. Nothing is deleted."""
    reason = why_unusable(path, digest) if path.exists() else None
    if reason:
        number = 1
        while (aside := path.with_name(f"{path.name}{SET_ASIDE}-{number}")).exists():
            number += 1
        path.rename(aside)
    return reason
