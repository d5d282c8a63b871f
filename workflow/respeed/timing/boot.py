"""Which start of the machine this is: what its clocks count from."""

import hashlib
import subprocess
from functools import cache
from pathlib import Path

_FILE = Path("/proc/sys/kernel/random/boot_id")


@cache
def boot_mark(file: Path = _FILE) -> str | None:
    """Eight hexadecimal digits, others at every start; None where the system does not tell."""
    number = _read(file) or _of_macos()
    return hashlib.sha256(number.encode()).hexdigest()[:8] if number else None


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _of_macos() -> str:
    command = ["sysctl", "-n", "kern.bootsessionuuid"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
