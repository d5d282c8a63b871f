"""Numbers for the pretended GPU.

Torch's own CUDA code runs whole: its checks, its allocator, its graphs and generators, its calls of libraries. What it
asks for computes nothing; behind it, on the same stream, is queued the same operator of the CPU on the same memory,
which is the host's. So it runs when, in which order and as often as the kernel would, and a graph remembers it as it
does kernels.
"""

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from tests.pretended_gpu import device
from tests.pretended_gpu.alive import Alive
from tests.pretended_gpu.products import PRODUCTS, multiply

# What makes no numbers, or makes them by a copy that the runtime itself carries out.
SILENT = {
    "_local_scalar_dense", "_pin_memory", "alias", "detach", "is_pinned", "lift_fresh", "pin_memory", "record_stream",
    "resize_", "set_", "_sparse_compressed_tensor_unsafe", "sparse_compressed_tensor",
}  # fmt: skip
# What the runtime computes itself: draws follow from the generator's state at the time they run.
DRAWS = {"uniform_"}
EMPTY = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
# By cuSOLVER, cuFFT and cuDNN, which are not pretended: torch's code for the device is left out.
LEFT_OUT = {"linalg_lu_factor_ex", "linalg_lu_solve", "_fft_r2c", "convolution", "convolution_backward"}
# How much they write the device alone knows: torch waits for it.
COUNTED = {"nonzero"}
COPIES = {"_to_copy", "copy_"}
# Of fp16 in fp32, if their last argument says so, which CPUs do not.
SOFTMAX = {"_softmax", "_log_softmax"}


class Numbers(TorchDispatchMode):
    """While it is active, operators on the device have numbers."""

    def __init__(self) -> None:
        super().__init__()
        self._device = device.library()
        self._work: dict[int, tuple[Callable[[], object], bool]] = {}
        self._given = 0
        self._run = device.WORK(self._run_number)
        self._memory: dict[torch.dtype, torch.Tensor] = {}
        self._begin = self._device.pretended_memory()
        self._alive = Alive()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func._schema.name.partition("::")[2]
        if name in COUNTED and args[0].is_cuda:
            torch.cuda.current_stream().synchronize()
            with _disable_current_modes():
                counted = func(self._here(args[0]))
            return counted.cuda()
        # cuSPARSE is not pretended either.
        is_left_out = (name in LEFT_OUT or is_sparse(args)) and any(one.is_cuda for one in arrays_in(args))
        out = self._made(func, args, kwargs) if is_left_out else func(*args, **kwargs)
        there = [one for one in arrays_in((args, kwargs, out)) if one.is_cuda]
        if name == "record_stream":
            self._alive.recorded(*args)
        if not there or func.is_view or name in SILENT:
            return out
        self._alive.saw(there)
        with _disable_current_modes():
            work = self._work_of(func, name, args, kwargs, out)
            if work:
                self._queue(name, work, there)
        return out

    def _made(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What an operator writes, without asking the device for anything."""
        if outs := tuple(kwargs[one.name] for one in func._schema.arguments if one.is_out):
            return outs[0] if len(outs) == 1 else outs

        with _disable_current_modes():
            shapes = func(*with_arrays(_on_meta, args), **with_arrays(_on_meta, kwargs))
            return with_arrays(lambda one: torch.empty_like(one, device="cuda"), shapes)

    def _work_of(self, func: Any, name: str, args: Any, kwargs: Any, out: Any) -> Callable[[], object] | None:
        if name in EMPTY:
            # Whoever reads what he has not written gets no number.
            here = self._here(out)
            captured = torch.cuda.is_current_stream_capturing()
            return None if captured or not here.is_floating_point() else lambda: here.fill_(torch.nan)
        if name in DRAWS:
            return lambda: None
        if name in COPIES:
            return self._copy(args[0] if name == "copy_" else out, args[1] if name == "copy_" else args[0])
        args, kwargs = with_arrays(self._here, args), with_arrays(self._here, kwargs)
        if name in PRODUCTS and not is_sparse(args):
            here, sums = self._here(out), self._sums()
            return lambda: here.copy_(multiply(name, args, kwargs, sums))
        kwargs = {key: value for key, value in kwargs.items() if key not in ("device", "pin_memory", "layout")}
        if name in SOFTMAX and args[2]:
            here = self._here(out)
            return lambda: here.copy_(func(args[0].float(), args[1], False))
        if any(one.alias_info is not None for one in func._schema.returns):
            return lambda: func(*args, **kwargs)
        outs = [self._here(one) for one in arrays_in(out)]

        def work() -> None:
            made = arrays_in(func(*args, **kwargs))
            for here, value in zip(outs, made, strict=True):
                here.copy_(value)

        return work

    def _copy(self, to: torch.Tensor, source: torch.Tensor) -> Callable[[], object] | None:
        """A copy between host and device is the runtime's, unless torch converts or gathers on the device: that would
        be a kernel's."""
        if to.is_cuda and source.is_cuda:
            here, there = self._here(to), self._here(source)
            return lambda: here.copy_(there)
        if not to.is_cuda:
            if source.dtype != to.dtype or not source.is_contiguous():
                to.copy_(self._here(source))  # torch has waited for the device
            # To memory that is not pinned it has waited in any case: nothing is left to be done.
            return (lambda: None) if to.is_pinned() else None
        if to.is_contiguous():
            return lambda: None
        here, taken = self._here(to), source.clone()
        return lambda: here.copy_(taken)

    def _here(self, one: torch.Tensor) -> torch.Tensor:
        """The same memory as an array of the host's; what is the host's already, as it is now."""
        if one.layout is torch.sparse_csr:
            return torch.sparse_csr_tensor(*map(self._here, arrays_in(one)), size=one.shape, check_invariants=False)
        if not one.is_cuda:
            return one.clone()
        if one.numel() == 0:
            return torch.empty(one.shape, dtype=one.dtype)
        place, rest = divmod(one.data_ptr() - self._begin, one.itemsize)
        assert rest == 0
        return self._all_of(one.dtype).as_strided(one.shape, one.stride(), place)

    def _all_of(self, dtype: torch.dtype) -> torch.Tensor:
        """The whole memory of the device."""
        if dtype not in self._memory:
            whole = (ctypes.c_char * self._device.pretended_memory_bytes()).from_address(self._begin)
            self._memory[dtype] = torch.frombuffer(whole, dtype=torch.uint8).view(dtype)
        return self._memory[dtype]

    def _sums(self) -> str:
        """How the last product that was asked of a library sums."""
        last = self._device.pretended_note_count() - 1
        while last >= 0 and self._device.pretended_note_kind(last) != b"product":
            last -= 1
        return self._device.pretended_note_name(last).decode() if last >= 0 else ""

    def _queue(self, name: str, work: Callable[[], object], tensors: list[torch.Tensor]) -> None:
        stream, captured = torch.cuda.current_stream(), torch.cuda.is_current_stream_capturing()
        check = self._alive.check_of(name, tensors, captured=captured)

        def checked() -> None:
            check()
            with _disable_current_modes():
                work()

        self._given += 1
        self._work[self._given] = checked, captured
        self._device.pretended_queue(stream.cuda_stream, name.encode(), self._run, self._given)

    def _run_number(self, number: int) -> None:
        work, again = self._work[number]
        if not again:
            del self._work[number]
        try:
            work()
        except Exception as error:
            self._device.pretended_add_problem(f"{type(error).__name__}: {error}".encode())


def arrays_in(some: Any) -> list[torch.Tensor]:
    """The arrays among an operator's arguments or results; of one in compressed rows those that it consists of."""
    if isinstance(some, torch.Tensor):
        is_csr = some.layout is torch.sparse_csr
        return [some.crow_indices(), some.col_indices(), some.values()] if is_csr else [some]
    if isinstance(some, dict):
        some = list(some.values())
    return [array for one in some for array in arrays_in(one)] if isinstance(some, (tuple, list)) else []


def is_sparse(arguments: Sequence[Any]) -> bool:
    """Whether one of an operator's arguments is in compressed rows."""
    return any(isinstance(one, torch.Tensor) and one.layout is torch.sparse_csr for one in arguments)


def with_arrays(change: Callable[[torch.Tensor], torch.Tensor], some: Any) -> Any:
    """The same arguments or results, with every array changed."""
    if isinstance(some, torch.Tensor):
        return change(some)
    if isinstance(some, dict):
        return {key: with_arrays(change, one) for key, one in some.items()}
    return [with_arrays(change, one) for one in some] if isinstance(some, (tuple, list)) else some


def _on_meta(array: torch.Tensor) -> torch.Tensor:
    """An array that has a shape and nothing else."""
    return torch.empty_like(array, device="meta")


_ACTIVE: list[Numbers] = []


def pretend() -> None:
    """From now on, in this thread, operators on the device have numbers."""
    if not _ACTIVE:
        sys.modules["triton"] = None  # type: ignore[assignment]  # no kernel of its runs here: as if it were not installed
        torch.backends.cudnn.enabled = False
        _ACTIVE.append(Numbers())
        _ACTIVE[0].__enter__()
