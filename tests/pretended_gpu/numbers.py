"""Numbers for the pretended GPU.

Torch's own CUDA code runs whole: its checks, its allocator, its graphs and generators, its calls of libraries. What it
asks for computes nothing; behind it, on the same stream, is queued the same operator of the CPU on the same memory,
which is the host's. So it runs when, in which order and as often as the kernel would, and a graph remembers it as it
does kernels.
"""

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from tests.pretended_gpu import device

# What makes no numbers, or makes them by a copy that the runtime itself carries out; draws, it makes by itself.
SILENT = {
    "_local_scalar_dense", "_pin_memory", "alias", "detach", "is_pinned", "lift_fresh", "pin_memory", "resize_", "set_",
    "_sparse_compressed_tensor_unsafe", "sparse_compressed_tensor", "uniform_",
}  # fmt: skip
EMPTY = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
# By cuSOLVER, cuFFT, CUB, NVRTC and cuDNN, which are not pretended: torch's code for the device is left out.
LEFT_OUT = {
    "linalg_lu_factor_ex", "linalg_lu_solve", "_fft_r2c", "_fft_c2c", "sort", "erfinv", "convolution",
    "convolution_backward",
}  # fmt: skip
PRODUCTS = {"addmm", "baddbmm", "bmm", "mm"}
# Of fp16 in fp32, if their last argument says so, which CPUs do not.
SOFTMAX = {"_softmax", "_log_softmax"}

Work = Callable[[], object]


class Numbers(TorchDispatchMode):
    """While it is active, operators on the device have numbers."""

    def __init__(self) -> None:
        super().__init__()
        self._work: dict[int, tuple[Work, bool]] = {}
        self._given = 0
        self._run = device.WORK(self._run_number)
        # Addresses of what was made within a capture: of a graph's own memory.
        self._scratch: set[int] = set()

    # Torch would import its compiler, which takes as long as all else of it, only to leave this out.
    _should_skip_dynamo = classmethod(lambda cls: False)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Have the device do its part of an operator, queue the CPU's behind it, and return the result."""
        kwargs = kwargs or {}
        name = func._schema.name.partition("::")[2]
        given = [one for one in arrays_in((args, kwargs)) if one.is_cuda]
        if name == "nonzero" and given:  # how much it writes the device alone knows: torch waits for it
            torch.cuda.current_stream().synchronize()
            with _disable_current_modes():
                return func(here(args[0])).cuda()
        # cuSPARSE is not pretended either.
        is_left_out = given and (name in LEFT_OUT or is_sparse(args))
        out = self._made(func, args, kwargs) if is_left_out else func(*args, **kwargs)
        made = [one for one in arrays_in(out) if one.is_cuda]
        if torch.cuda.is_current_stream_capturing():
            self._scratch |= {address_of(one) for one in made} - {address_of(one) for one in given}
        if not (given or made) or func.is_view or name in SILENT:
            return out
        with _disable_current_modes():
            if work := self._work_of(func, name, args, kwargs, out):
                self._queue(name, work, given)
        return out

    def _made(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Return what an operator writes, without asking the device for anything."""
        if outs := tuple(kwargs[one.name] for one in func._schema.arguments if one.is_out):
            return outs[0] if len(outs) == 1 else outs

        def on_meta(array: torch.Tensor) -> torch.Tensor:
            return torch.empty_like(array, device="meta")

        with _disable_current_modes():
            shapes = func(*with_arrays(on_meta, args), **with_arrays(on_meta, kwargs))
            return with_arrays(lambda one: torch.empty_like(one, device="cuda"), shapes)

    def _work_of(self, func: Any, name: str, args: Any, kwargs: Any, out: Any) -> Work | None:
        """Return what the CPU does in the operator's place; None if there is nothing to do."""
        if name in EMPTY:
            # Whoever reads what he has not written gets no number.
            room = here(out)
            captured = torch.cuda.is_current_stream_capturing()
            return None if captured or not room.is_floating_point() else lambda: room.fill_(torch.nan)
        if name == "copy_":
            return copy(args[0], args[1])
        if name == "_to_copy":
            return copy(out, args[0])
        args, kwargs = with_arrays(here, args), with_arrays(here, kwargs)
        outs = [here(one) for one in arrays_in(out)]
        if name in PRODUCTS and not is_sparse(args):
            sums = device.library().pretended_sums()
            return lambda: outs[0].copy_(multiply(name, args, kwargs, sums))
        kwargs = {key: value for key, value in kwargs.items() if key not in ("device", "pin_memory", "layout")}
        if name in SOFTMAX and args[2]:
            return lambda: outs[0].copy_(func(args[0].float(), args[1], False))
        if any(one.alias_info is not None for one in func._schema.returns):
            return lambda: func(*args, **kwargs)

        def work() -> None:
            for to, value in zip(outs, arrays_in(func(*args, **kwargs)), strict=True):
                to.copy_(value)

        return work

    def _queue(self, name: str, work: Work, given: list[torch.Tensor]) -> None:
        """Queue it behind what torch has asked for; of a graph, whatever it reads or writes must outlive it."""
        captured = torch.cuda.is_current_stream_capturing()
        lasting = [one for one in given if captured and address_of(one) not in self._scratch]
        kept = [StorageWeakRef(one.untyped_storage()) for one in lasting]

        def checked() -> None:
            if any(one.expired() for one in kept):
                raise ValueError(f"{name}, in a graph: an array of before its capture was freed, and may be another's")
            with _disable_current_modes():
                work()

        self._given += 1
        self._work[self._given] = checked, captured
        stream = torch.cuda.current_stream().cuda_stream
        device.library().pretended_queue(stream, name.encode(), self._run, self._given)

    def _run_number(self, number: int) -> None:
        work, again = self._work[number]
        if not again:
            del self._work[number]
        try:
            work()
        except Exception as error:  # of a callback nobody is told
            device.library().pretended_problem(f"{type(error).__name__}: {error}".encode())


def copy(to: torch.Tensor, source: torch.Tensor) -> Work | None:
    """Return what is left to do of a copy; None if nothing is.

    Between host and device a copy is the runtime's, unless torch converts or gathers on the device: by a kernel.
    """
    if to.is_cuda and source.is_cuda:
        written, read = here(to), here(source)
        return lambda: written.copy_(read)
    if not to.is_cuda:
        if source.dtype != to.dtype or not source.is_contiguous():
            to.copy_(here(source))  # torch has waited for the device
        return None
    if to.is_contiguous():
        return None
    written, taken = here(to), source.clone()
    return lambda: written.copy_(taken)


def multiply(name: str, args: Any, kwargs: Any, sums: bytes) -> torch.Tensor:
    """Return the product, not yet rounded to what it is written as. Operands are rounded first where sums are TF32."""
    addend, (left, right) = (args[0], args[1:3]) if name in {"addmm", "baddbmm"} else (None, args[:2])
    if sums == b"tf32":
        left, right = to_tf32(left), to_tf32(right)
    if left.dtype.itemsize < 4:
        left, right = left.float(), right.float()
    product = torch.matmul(left, right) * kwargs.get("alpha", 1)
    beta = kwargs.get("beta", 1)
    return product if addend is None or beta == 0 else product + beta * addend.to(product.dtype)


def to_tf32(array: torch.Tensor) -> torch.Tensor:
    """Return the nearest numbers of 10 bits behind the point."""
    bits = array.contiguous().view(torch.int32)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32)


@cache
def whole_memory(dtype: torch.dtype) -> tuple[torch.Tensor, int]:
    """Return the device's memory as one array of the host's, and its address."""
    count = ctypes.c_size_t()
    begin = device.library().pretended_memory(ctypes.byref(count))
    whole = torch.frombuffer((ctypes.c_char * count.value).from_address(begin), dtype=torch.uint8)
    return whole.view(dtype), begin


def here(one: torch.Tensor) -> torch.Tensor:
    """Return the same memory as an array of the host's; what is the host's already, as it is now."""
    if one.layout is torch.sparse_csr:
        return torch.sparse_csr_tensor(*map(here, arrays_in(one)), size=one.shape, check_invariants=False)
    if not one.is_cuda:
        return one.clone()
    if one.numel() == 0:
        return torch.empty(one.shape, dtype=one.dtype)
    whole, begin = whole_memory(one.dtype)
    return whole.as_strided(one.shape, one.stride(), (one.data_ptr() - begin) // one.itemsize)


def address_of(array: torch.Tensor) -> int:
    """Return where the memory that it is a part of begins."""
    return array.untyped_storage().data_ptr()


def arrays_in(some: Any) -> list[torch.Tensor]:
    """Return the arrays among an operator's arguments or results; of one in compressed rows, those it consists of."""
    if isinstance(some, torch.Tensor):
        is_csr = some.layout is torch.sparse_csr
        return [some.crow_indices(), some.col_indices(), some.values()] if is_csr else [some]
    if isinstance(some, dict):
        some = list(some.values())
    return [array for one in some for array in arrays_in(one)] if isinstance(some, (tuple, list)) else []


def with_arrays(change: Callable[[torch.Tensor], torch.Tensor], some: Any) -> Any:
    """Return the same arguments or results, with every array changed."""
    if isinstance(some, torch.Tensor):
        return change(some)
    if isinstance(some, dict):
        return {key: with_arrays(change, one) for key, one in some.items()}
    return [with_arrays(change, one) for one in some] if isinstance(some, (tuple, list)) else some


def is_sparse(arguments: Sequence[Any]) -> bool:
    """Return whether one of an operator's arguments is in compressed rows."""
    return any(isinstance(one, torch.Tensor) and one.layout is torch.sparse_csr for one in arguments)


def pretend() -> None:
    """Give operators on the device numbers, from now on, in this thread."""
    sys.modules["triton"] = None  # type: ignore[assignment]  # no kernel of its runs here: as if it were not installed
    torch.backends.cudnn.enabled = False
    Numbers().__enter__()
