"""Which way between the products a device takes: fused kernels where they can be had and are proved, else torch's."""

import os
from functools import cache
from pathlib import Path

import torch

from respeed.backends._torch import is_out_of_memory
from respeed.backends._torch_apart import proved_apart
from respeed.backends._torch_between import Between, ByTorch, Scratch
from respeed.backends._torch_prove import NEAR, in_words, prove, scratch_anew
from respeed.errors import is_of_the_disk
from respeed.process import private_folder


def between_for(device: torch.device, dtype: torch.dtype, scratch: Scratch) -> Between:
    """Kernels are compiled and compared with torch's operations here: never within a step, a graph or a time.

    Want of memory and a full disk are raised: they say nothing of the kernels, and rounds would differ for them.
    """
    if device.type != "cuda":
        return ByTorch(scratch)
    if torch.version.hip or dtype not in NEAR:
        return ByTorch(scratch, "fused for NVIDIA in fp32 and lower precision")
    if os.environ.get("TRITON_INTERPRET", "0") not in {"", "0"}:
        return ByTorch(scratch, "TRITON_INTERPRET is set")
    _keep_to_ourselves()
    try:
        from respeed.backends._torch_triton import ByTriton

        # What a faulty kernel leaves of a process's device is of no use to anyone.
        if why := proved_apart(device, dtype):
            return ByTorch(scratch, why)
        fused = ByTriton(scratch)
        _proved_here(device, dtype)
    except Exception as error:  # no Triton, no C compiler, a GPU that it does not know, a wrong number
        if is_of_the_disk(error) or isinstance(error, MemoryError) or is_out_of_memory(error):
            raise
        return ByTorch(scratch, in_words(error))
    return fused


@cache
def _keep_to_ourselves() -> None:
    """What Triton compiled is loaded from where it is kept, here and in the process that proves kernels: from a folder
    that no other user could have put anything into."""
    home = os.environ.get("TRITON_HOME") or os.path.expanduser("~")
    wished = os.environ.get("TRITON_CACHE_DIR") or os.path.join(home, ".triton", "cache")
    os.environ["TRITON_CACHE_DIR"] = str(private_folder("triton", Path(wished)))


@cache
def _proved_here(device: torch.device, dtype: torch.dtype) -> None:
    """Once a process: what is compiled stays."""
    from respeed.backends._torch_triton import ByTriton

    prove(ByTriton(scratch_anew), ByTorch(scratch_anew), device, dtype)
    torch.cuda.synchronize(device)
