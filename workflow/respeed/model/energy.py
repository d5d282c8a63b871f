"""A counter of energy, as a part of a machine keeps one, and what two readings of it say."""

from collections.abc import Callable
from dataclasses import dataclass

# No package of a CPU takes as much. A counter that this would bring round within a block may have gone round unseen.
MOST_WATTS = 1000.0

# A reading is as old as the counter's last change: at either end of a block up to one update is counted that is not the
# block's, or left out that is. Of ten, that is at most a tenth of what a block draws more than what goes before it.
FEWEST_UPDATES = 10


@dataclass(frozen=True)
class EnergyCounter:
    """What a `domain`, a CPU's package or a GPU, has used: `read` gives joules since some moment, and raises OSError
    where the counter is gone. At `wraps_at` joules it begins anew; None for one that never does."""

    domain: str
    read: Callable[[], float]
    wraps_at: float | None = None

    def between(self, before: float, after: float, seconds: float) -> float | None:
        """Joules between two readings so far apart; None where that cannot be told: the counter was set back, or may
        have gone round more than once."""
        if self.wraps_at is None:
            return after - before if after >= before else None
        if seconds * MOST_WATTS >= self.wraps_at:
            return None
        return (after - before) % self.wraps_at
