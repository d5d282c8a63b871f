"""Steps that nobody times, after the blocks of a row on a device: for its counter of energy, which is slow.

A GPU's counter moves every 20 to 100 ms. Blocks long enough for it would make every round longer; one run is enough.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from respeed.machine.energy import FEWEST_UPDATES
from respeed.protocol import REAL, Block
from respeed.schedule.spec import RoundSpec
from respeed.timing.blocks import Timer
from respeed.workloads import Program

# A counter that would take longer is not waited for.
MOST_SECONDS = 4.0


def energy_run(
    spec: RoundSpec, program: Program, timer: Timer, blocks: Iterable[Block], weights: Mapping[str, float]
) -> dict[str, Any] | None:
    """Its steps, seconds and joules by domain. None where the blocks tell as much, or where the counters tell nothing.

    `weights` is how often each part of a step counts: what parts that count more often than others use is not known.
    Smoke and the hardware sheet, of which nobody asks the energy, have no such run.
    """
    meter = timer.meter
    lasts = FEWEST_UPDATES * meter.update_seconds
    is_asked = meter.counters and not spec.profile.is_cpu and spec.timing == REAL and not spec.whole_steps
    if not is_asked or any(weight != 1 for weight in weights.values()):
        return None
    if lasts > MOST_SECONDS or all(block.seconds >= lasts for block in blocks):
        return None
    together = max(1, math.ceil(meter.update_seconds / timer.step_seconds))
    # The first reading is up to an update old: then it is of these steps as well, not of the pause before them.
    _steps(program, timer, together)
    before = after = meter.read()
    steps = 0
    while after[1] - before[1] < lasts:
        _steps(program, timer, together)
        steps += together
        after = meter.read()
    joules = meter.joules(before, after)
    return {"steps": steps, "seconds": after[1] - before[1], "joules": joules} if joules else None


def _steps(program: Program, timer: Timer, count: int) -> None:
    for _ in range(count):
        program.step()
    timer.sync()
