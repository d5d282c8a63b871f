"""An accelerator's array and its twin in the host's memory."""

import numpy as np
import torch

from respeed.model.errors import NotMeasurable


class HostTwin:
    """Copies from and to pinned memory are asked for and not waited for; those of pageable memory the driver does by
    way of pinned memory of its own, while the host waits."""

    apart = True

    def __init__(self, values: np.ndarray, dtype: torch.dtype, device: torch.device, *, pinned: bool) -> None:
        if pinned and device.type != "cuda":
            raise NotMeasurable(f"torch has no pinned memory for {device.type}")
        host = torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)).to(dtype)
        self._host, self._pinned = host.pin_memory() if pinned else host.clone(), pinned
        self.array = torch.zeros(host.shape, dtype=dtype, device=device)

    def upload(self) -> None:
        self.array.copy_(self._host, non_blocking=self._pinned)

    def download(self) -> None:
        self._host.copy_(self.array, non_blocking=self._pinned)

    def values(self) -> np.ndarray:
        here: np.ndarray = self._host.to(torch.float32).numpy()
        return here
