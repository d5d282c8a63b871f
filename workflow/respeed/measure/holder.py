"""Who holds the machine-wide lock, in words for whoever waits."""

from dataclasses import dataclass
from datetime import datetime

import psutil

# As much of a command as one line has room for.
COMMAND_WIDTH = 60


@dataclass(frozen=True)
class Holder:
    """`pid` is None where the system does not tell, or not across containers."""

    pid: int | None = None

    def __str__(self) -> str:
        """ "pid 4242 of anna, running since 2026-01-31 14:05 (python -m respeed measure)", or as much as is known."""
        if self.pid is None:
            return "a process that cannot be seen from here"
        try:
            process = psutil.Process(self.pid)
            since = datetime.fromtimestamp(process.create_time()).strftime("%Y-%m-%d %H:%M")
            told = f"pid {self.pid} of {process.username()}, running since {since}"
        except psutil.NoSuchProcess:
            return f"what pid {self.pid} left behind"
        except psutil.AccessDenied:
            return f"pid {self.pid}"
        return f"{told}{_command(process)}"


def _command(process: psutil.Process) -> str:
    """Anybody can give his process any words, those that steer a terminal among them: shown as far as they print."""
    try:
        words = " ".join(process.cmdline())
    except psutil.Error:
        return ""
    shown = "".join(letter if letter.isprintable() else "?" for letter in words)
    return f" ({shown if len(shown) <= COMMAND_WIDTH else shown[: COMMAND_WIDTH - 1] + '…'})" if shown else ""


def written_down(pid: int) -> str:
    """The process as one line of a file, which `read_holder` knows again."""
    return f"{pid} {psutil.Process(pid).create_time():.2f}\n"


def read_holder(text: str) -> Holder:
    """The process that wrote the line, if it still runs. Another may have its number by now, or in a container."""
    try:
        pid, began = text.split()
        is_same = abs(psutil.Process(int(pid)).create_time() - float(began)) < 1
    except (ValueError, OverflowError, psutil.Error):
        return Holder()
    return Holder(int(pid)) if is_same else Holder()
