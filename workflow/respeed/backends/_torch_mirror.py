"""An accelerator's array and its twin in the host's memory."""

import numpy as np
import torch

from respeed.errors import NotMeasurable


class HostTwin:
    """Copies from and to pinned memory are asked for and not waited for; those of pageable memory the driver does by
    way of pinned memory of its own, while the host waits."""

    apart = True

    def __init__(self, array: torch.Tensor, *, pinned: bool) -> None:
        """The twin of an array that is on the device, which is all 0 from now on."""
        if pinned and array.device.type != "cuda":
            raise NotMeasurable(f"torch has no pinned memory for {array.device.type}")
        host = array.to("cpu", copy=True)
        self.array, self._pinned = array.zero_(), pinned
        self._host = host.pin_memory() if pinned else host

    def upload(self) -> None:
        self.array.copy_(self._host, non_blocking=self._pinned)

    def download(self) -> None:
        self._host.copy_(self.array, non_blocking=self._pinned)

    def values(self) -> np.ndarray:
        here: np.ndarray = self._host.numpy()
        return here
