"""Only one measurement at a time on a machine: two would measure each other.

The lock is held at two places, a name in the kernel and a file, because each is shared where the other may not be: the
name where every user or job has a /tmp of its own, the file where sandboxes have a network of their own, and with
earlier versions. Two measurements wait for each other if they share either.
"""

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from respeed.errors import UserError
from respeed.measure.holder import Holder
from respeed.measure.lock_places import HeldError, KernelName, LockFile, Place
from respeed.schedule.duration import in_words
from respeed.timing.clock import seconds_now

# What holds it: for a child to inherit.
Held = tuple[int, ...]

# To look so often costs a measurement nothing that its own probes would see.
LOOK_SECONDS = 0.5
# Whoever waits for hours need not read of it every minute.
SAY_AGAIN_SECONDS = 600.0


@dataclass(frozen=True)
class Places:
    """`shared` are all held, in this order, or none; `own`, this user's alone, where none of them can be used."""

    shared: tuple[Place, ...]
    own: Place


# Not the temporary folder of the environment, which can be one of each job or each user. Nor the system's folder for
# locks, /run/lock: many systems let only root write there.
MACHINE = Places(
    (KernelName("respeed-measures"), LockFile(Path("/tmp/respeed.lock"))),
    LockFile(Path(tempfile.gettempdir(), f"respeed-{os.getuid()}.lock")),
)


def say_on_screen(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def machine_lock(
    wait_seconds: float | None = None, say: Callable[[str], None] = say_on_screen, places: Places | None = None
) -> Iterator[Held]:
    """Hold the machine-wide lock. While another measurement holds it: waits, and says for whom; for ever, or UserError
    after `wait_seconds`.

    Gives the lock's descriptors, for the child to inherit: a child whose parent was killed keeps the lock for
    as long as it still uses the cores.
    """
    held = _take_in_time(wait_seconds, say, places or MACHINE)
    try:
        if not held:
            say("respeed: no lock can be had here: take care that nothing else measures meanwhile")
        yield held
    finally:
        _release(held)


def who_measures(places: Places | None = None) -> Holder | None:
    """Who holds the lock now; None if nobody does. Takes nothing, so that nobody finds it taken."""
    asked = places or MACHINE
    found = [holder for place in (*asked.shared, asked.own) if (holder := place.holder())]
    return next((holder for holder in found if holder.pid), found[0] if found else None)


def _take_in_time(wait_seconds: float | None, say: Callable[[str], None], places: Places) -> Held:
    began, next_say = seconds_now(), 0.0
    while True:
        try:
            return _take(places)
        except HeldError as error:
            holder = error.holder
        waited = seconds_now() - began
        if wait_seconds is not None and waited >= wait_seconds:
            after = f" after {in_words(waited)} of waiting" if wait_seconds else ""
            raise UserError(
                f"another measurement still runs on this machine{after}: {holder}; try again when it is done, or give "
                "this one longer to wait for it, such as --wait 1h"
            )
        if waited >= next_say:
            limit = "" if wait_seconds is None else f", for at most {in_words(wait_seconds - waited)}"
            say(f"respeed: another measurement runs on this machine; waiting for it{limit}: {holder}")
            next_say = waited + SAY_AGAIN_SECONDS
        time.sleep(LOOK_SECONDS if wait_seconds is None else min(LOOK_SECONDS, wait_seconds - waited))


def _take(places: Places) -> Held:
    held: list[int] = []
    try:
        for place in places.shared:
            if (descriptor := place.take()) is not None:
                held.append(descriptor)
        if not held and (descriptor := places.own.take()) is not None:
            held.append(descriptor)
    except BaseException:
        _release(tuple(held))
        raise
    return tuple(held)


def _release(held: Held) -> None:
    for descriptor in held:
        os.close(descriptor)
