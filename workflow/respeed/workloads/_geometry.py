"""Where the overlapping patches of an image lie, and how they are worked off; of the workload `patches`."""

from respeed.errors import NotMeasurable
from respeed.model.paper import Case


class Geometry:
    """`grid` tiles a side of the image, `across` tiles a side of a patch, `rows` patches a side of the image."""

    def __init__(self, case: Case) -> None:
        side, patch, stride, self.hidden, self.batch = (
            int(case.parameters[name]) for name in ("side", "patch", "stride", "hidden", "batch")
        )
        if side % stride or patch % stride or patch > side:
            raise NotMeasurable(f"the stride {stride} must divide the side {side} and the patch {patch}, of at most it")
        self.grid, self.across, self.tile = side // stride, patch // stride, stride * stride
        self.rows = self.grid - self.across + 1
        self.patches, self.pixels, self.visible = self.rows**2, patch * patch, side * side

    def stacks(self, most: float) -> list[slice]:
        """Patches, as many together as have inputs of both phases of at most so many bytes; at least one."""
        # Not //, which makes nan of an accelerator's infinity.
        count = int(min(self.patches, max(1.0, most / (4 * 2 * self.batch * self.pixels))))
        return [slice(first, min(first + count, self.patches)) for first in range(0, self.patches, count)]

    def bands(self, lanes: int) -> list[slice]:
        """Rows of tiles of the image, in so many parts, or as many as there are rows."""
        parts = min(lanes, self.grid)
        return [slice(part * self.grid // parts, (part + 1) * self.grid // parts) for part in range(parts)]
