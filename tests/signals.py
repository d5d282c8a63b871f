"""For tests that send signals to real processes."""

import signal

# What each ends a process with, as a shell tells it.
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def hear_all() -> None:
    """For a process that is about to be started: hear them all. The tests themselves may run in the background of a
    script, where Ctrl-C is ignored."""
    for number in CODES:
        signal.signal(number, signal.SIG_DFL)
