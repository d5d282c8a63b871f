"""What replicas run in tests: in a module of its own, since their processes import it by its name."""

import os
from typing import ClassVar

from respeed.workloads import Arrays, Row, workload
from respeed.workloads.convnet import _Net
from respeed.workloads.data_parallel import DataParallel, _Layers


@workload
class _Wrong(_Layers):
    how: str

    def prepare_torch(self, a: Arrays, row: Row) -> None:
        if self.how == "alone":
            _Net.prepare_torch(self, a, row)
        else:
            super().prepare_torch(a, row)

    def torch(self, a: Arrays, row: Row) -> None:
        if self.rank and self.how == "end":
            os._exit(3)
        if self.rank and self.how == "fail":
            raise ValueError(f"rank {self.rank} has had enough")
        super().torch(a, row)
        if self.rank and self.how == "other":
            a.parameters[-1][0] += 1e-3


@workload
class Wrong(DataParallel):
    """Replicas that do not average ("alone"); of which the second has other parameters, fails or ends."""

    how: str = ""
    part_class = _Wrong
    tiny: ClassVar = {**DataParallel.tiny, "how": ""}
