"""How fast the device can be at most, as seen from here: shortest time of a step that does nothing else."""

from collections.abc import Callable

from respeed.timing.clock import seconds_now

REPEATS = 3


def shortest_seconds(step: Callable[[], None], sync: Callable[[], None], repeats: int = REPEATS) -> float:
    """Seconds of the fastest of `repeats` runs, after two that do not count. A ceiling is a best case by definition."""
    best = float("inf")
    for run in range(repeats + 2):
        sync()
        start = seconds_now()
        step()
        sync()
        if run >= 2:
            best = min(best, seconds_now() - start)
    return best
