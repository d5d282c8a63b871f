"""Torch on an accelerator: operations are asked for and not waited for.

Steps are graphs on CUDA devices and on ROCm's, which torch calls the same: asked for once, then run by one launch.
Copies run beside the computing there. An array may have a twin in the host's memory.
"""

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from respeed.backends import Step
from respeed.backends._torch import Torch, is_out_of_memory
from respeed.errors import NotMeasurable, is_of_the_disk
from respeed.machine.accelerators import NAMES, split_device, too_high
from respeed.machine.process import private_folder
from respeed.text import first_line


class PinnedChunks:
    """Chunks in pinned memory of the host, and two arrays on the device that they are copied to on a stream of their
    own: while steps use the one, the next chunk comes into the other.

    Two events for each array keep the order without the host waiting: `_here` when its chunk has come, and `_used` when
    the last step on it is done, before which nothing may be written over it.
    """

    def __init__(self, items: Tensor, together: int, device: torch.device) -> None:
        self._chunks = [chunk.pin_memory() for chunk in items.split(together)]
        shape = self._chunks[0].shape
        first, second = (torch.empty(shape, dtype=items.dtype, device=device) for _ in range(2))
        self.arrays = (first, second)
        self._device, self._copying = device, torch.cuda.Stream(device)
        for array in self.arrays:
            # The last copy may still be under way when nobody needs the chunks any more: their memory is not free yet.
            array.record_stream(self._copying)
        self._here = [torch.cuda.Event() for _ in self.arrays]
        self._used = [torch.cuda.Event() for _ in self.arrays]
        self._asked = 0
        # The memory may have been another array's, which is perhaps still in use.
        self._used[0].record(self._computing())
        self._copy_next()

    def advance(self) -> int:
        """Asks for the copy of the chunk after this one: all steps on the array it comes to were asked for before."""
        now = (self._asked - 1) % 2
        self._computing().wait_event(self._here[now])
        self._used[1 - now].record(self._computing())
        self._copy_next()
        return now

    def _computing(self) -> torch.cuda.Stream:
        """The stream that steps are asked for on: while a step is captured, the graph's."""
        return torch.cuda.current_stream(self._device)

    def _copy_next(self) -> None:
        place, chunk = self._asked % 2, self._chunks[self._asked % len(self._chunks)]
        self._copying.wait_event(self._used[place])
        with torch.cuda.stream(self._copying):
            self.arrays[place].copy_(chunk, non_blocking=True)
            self._here[place].record(self._copying)
        self._asked += 1


# From this version on a graph finds generators by itself: to name them does nothing but warn, and will be an error.
FINDS_GENERATORS = (2, 14)


def finds_generators(version: str) -> bool:
    major, minor = version.split(".")[:2]
    return (int(major), int(minor)) >= FINDS_GENERATORS


class Graphs:
    """Makes graphs of steps, all with scratch memory from one pool: they run one after another, never at once.

    What a step allocates while it is captured, such as a library's workspace (32 MiB on large GPUs), belongs to the
    graph as long as it lives. With a pool of its own, each graph of a program would keep as much.
    """

    def __init__(self, device: torch.device, dtype: torch.dtype, random: torch.Generator) -> None:
        self._device, self._random, self._stream = device, random, torch.cuda.Stream(device)
        self._pool = torch.cuda.graph_pool_handle()
        self._wanted = True
        self._troubles: dict[str, None] = {}
        self.workspace_bytes = warm_up_products(self._stream, dtype)
        # As long as one graph lives, the pool stays, with room for the workspace: what is free after this is free.
        a, b, out = (torch.zeros(64, 64, dtype=dtype, device=device) for _ in range(3))
        self._product: Step = lambda: torch.mm(a, b, out=out)
        self._first = self.captured(self._product)
        self.why_none = self.why_plain()

    def captured(self, step: Step) -> Step:
        """The step as a graph; the step itself where it cannot be captured, which `why_plain` then tells."""
        if not self._wanted:
            return step
        try:
            return CapturedStep(step, self._random, self._stream, self._pool)
        except NotMeasurable:
            raise
        except Exception as error:  # of any library: the step itself says whether it is more than the capture
            self._troubles[first_line(first_cause(error))] = None
            self._begin_anew()
            return step

    def _begin_anew(self) -> None:
        """After a capture that was broken off: a pool of its own for the graphs to come, as versions differ in what the
        allocator then knows of the old one, and a graph that keeps it.

        Where generators are named to graphs, they take part in a capture until one ends well: until then nothing may
        draw, neither the step as it is nor a graph that was made before.
        """
        self._pool = torch.cuda.graph_pool_handle()
        try:
            self._first = CapturedStep(self._product, self._random, self._stream, self._pool)
        except Exception:  # whatever it is: no step becomes a graph here, which the step that was to be one tells
            self._pool = torch.cuda.graph_pool_handle()
            if not finds_generators(torch.__version__):
                # No graph has the state, and a copy of it takes part in no capture.
                self._random.graphsafe_set_state(self._random.clone_state())

    def why_plain(self) -> str | None:
        """Why steps that were to be captured since this was last asked were not; None if all were."""
        told, self._troubles = "; ".join(self._troubles), {}
        return told or None

    @contextmanager
    def none(self) -> Iterator[None]:
        """Within, steps are asked for operation by operation."""
        self._wanted = False
        try:
            yield
        finally:
            self._wanted = True

    def bytes_kept(self) -> int:
        """What graphs keep and nothing else can have, as far as it holds no array."""
        return sum(
            segment["total_size"] - segment["allocated_size"]
            for segment in torch.cuda.memory_snapshot()
            if segment["device"] == self._stream.device.index and tuple(segment["segment_pool_id"]) != (0, 0)
        )


class CapturedStep:
    """A step as a graph, which each call runs.

    Capturing runs nothing: what is checked after the first call is what the graph did. It is captured at once, not when
    it is first called, because that call could fall into what is timed.
    """

    def __init__(
        self, step: Step, random: torch.Generator, stream: torch.cuda.Stream, pool: tuple[int, int] | None = None
    ) -> None:
        # A graph knows addresses only: the step is kept because it keeps its arrays.
        self._step = step
        self._graph = torch.cuda.CUDAGraph()
        # Each run then goes on in the generator's sequence, as the step itself would.
        if not finds_generators(torch.__version__):
            self._graph.register_generator_state(random)
        # The outer one: before 2.14, torch leaves its own stream the current one where a capture is broken off.
        current = torch.cuda.stream(torch.cuda.current_stream(stream.device))
        with no_garbage(), current, torch.cuda.graph(self._graph, stream=stream, pool=pool):
            step()

    def __call__(self) -> None:
        self._graph.replay()


@contextmanager
def no_garbage() -> Iterator[None]:
    """Collect garbage now, and none within: an old graph or array that is let go of while a step is captured may wait
    for the device (ROCm's graphs do), and a capture that waits is invalid."""
    gc.collect(1)  # the young: before a case is built, all is collected, and a program may have many graphs
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def warm_up_products(stream: torch.cuda.Stream, dtype: torch.dtype) -> int:
    """Have the libraries of products set up on the stream what a graph cannot hold: handles, and workspaces where torch
    keeps them. Returns the bytes that a product takes and gives back, where it does not."""
    device = stream.device
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        square, bias = (torch.zeros(*shape, dtype=dtype, device=device) for shape in ((64, 64), (64,)))
        torch.cuda.reset_peak_memory_stats(device)
        torch.addmm(square, square, square)
        torch.addmm(bias, square, square)
        torch.baddbmm(square[None], square[None], square[None])
        taken = torch.cuda.max_memory_allocated(device) - torch.cuda.memory_allocated(device)
    torch.cuda.synchronize(device)
    return int(taken)


def first_cause(error: BaseException) -> BaseException:
    """What came first: an error within a capture ends in another one, which says that there was one before."""
    while (before := error.__cause__ or (None if error.__suppress_context__ else error.__context__)) is not None:
        error = before
    return error


class OnAccelerator(Torch):
    """Torch on a device that works while the host goes on."""

    synchronous = False

    def __init__(self, device: str, precision: str, threads: int, seed: int) -> None:
        kind, index = split_device(device)
        if reason := missing(kind, index):
            raise NotMeasurable(reason)
        if index is not None:
            # What takes no device of its own, such as pinned memory and the libraries' handles, is the current one's.
            getattr(torch, kind).set_device(index)
        if reason := why_not(kind, precision):
            raise NotMeasurable(reason)
        super().__init__(device, precision, threads)
        self._random = torch.Generator(self.device)
        self._random.manual_seed(seed)
        # Convolutions: cuDNN would use TF32 unless told otherwise, and guess which algorithm is the fastest.
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.benchmark = True
        self._graphs = Graphs(self.device, self.dtype, self._random) if kind == "cuda" else None
        self.graphs = self._graphs is not None
        self.fused, self._why_not_fused = self._compile()

    def _compile(self) -> tuple[bool, str]:
        """Compile Triton's kernels, on NVIDIA's GPUs; return whether they are there, and else why not."""
        if self.device.type != "cuda" or torch.version.hip or self.dtype != torch.float32:
            return False, ""
        if os.environ.get("TRITON_INTERPRET", "0") not in {"", "0"}:
            return False, "TRITON_INTERPRET is set"
        # What was compiled before is loaded: from a folder that no other user could have put anything into.
        os.environ["TRITON_CACHE_DIR"] = str(private_folder("triton"))
        try:
            from respeed.kernels.fused import compile_for

            compile_for(self.device)
        except Exception as error:  # no Triton, no C compiler, a GPU that it does not know
            # Want of memory and a full disk say nothing of the kernels, and rounds would differ for them.
            if is_of_the_disk(error) or isinstance(error, MemoryError) or is_out_of_memory(error):
                raise
            return False, first_line(error)[:200]
        return True, ""

    def uniform(self, out: Tensor) -> Tensor:
        return out.uniform_(generator=self._random)

    def stream(self, items: Any, together: int) -> Any:
        if not self._graphs:
            return super().stream(items, together)
        # Rounded on the host, once, where precision is low: half the bytes to copy.
        whole = torch.from_numpy(np.asarray(items, self.host_dtype)).to(self.dtype)
        return PinnedChunks(whole, together, self.device)

    def captured(self, step: Step) -> Step:
        return self._graphs.captured(step) if self._graphs else step

    def why_plain(self) -> str | None:
        """Why steps that were to be captured since this was last asked were not; None if all were."""
        return self._graphs.why_plain() if self._graphs else None

    def rehearsals(self) -> Sequence[AbstractContextManager[None]]:
        # Plain steps first: a capture is no place to load kernels or to choose algorithms in.
        return (self._graphs.none(), nullcontext()) if self._graphs else (nullcontext(),)

    def limited(self, threads: int) -> AbstractContextManager[None]:
        raise NotMeasurable("an accelerator's threads are not its cores")

    def bytes_free(self) -> float | None:
        if self.device.type == "mps":  # the host's memory, of which Metal lets a program have a part
            return float(max(0, torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory()))
        of, here = getattr(torch, self.device.type), self.device
        # What torch holds and no array uses is free for the next one, but for what graphs and products need themselves.
        free = _never_held(of, here) + of.memory_reserved(here) - of.memory_allocated(here)
        if self._graphs:
            free -= self._graphs.bytes_kept() + self._graphs.workspace_bytes
        return float(max(0, free))

    def sync(self) -> None:
        if self.device.type == "mps":  # there is one, and it is not named
            torch.mps.synchronize()
        else:
            getattr(torch, self.device.type).synchronize(self.device)

    def describe(self) -> dict[str, Any]:
        fused = f"torch: {self._why_not_fused}" if self._why_not_fused else "torch"
        facts = {**super().describe(), "elementwise": "triton" if self.fused else fused}
        if not self._graphs:
            return {**facts, "accelerator": _name(self.device), "graphs": "no: none are made on such a device"}
        properties, products = torch.cuda.get_device_properties(self.device), torch.backends.cuda.matmul
        return {
            **facts,
            "library": f"cuBLAS (CUDA {torch.version.cuda})"
            if torch.version.cuda
            else f"hipBLAS ({torch.version.hip})",
            "accelerator": properties.name,
            "graphs": f"no: {self._graphs.why_none}" if self._graphs.why_none else "yes",
            "memory_bytes": properties.total_memory,
            "multiprocessors": properties.multi_processor_count,
            "capability": f"{properties.major}.{properties.minor}",
            "cudnn": str(torch.backends.cudnn.version()),
            # Its address, by which the driver knows it.
            "pci": f"{properties.pci_domain_id:08x}:{properties.pci_bus_id:02x}:{properties.pci_device_id:02x}.0",
            "allow_tf32": products.allow_tf32,
            "cudnn_allow_tf32": torch.backends.cudnn.allow_tf32,
            "allow_bf16_reduced_precision_reduction": products.allow_bf16_reduced_precision_reduction,
            "allow_fp16_reduced_precision_reduction": products.allow_fp16_reduced_precision_reduction,
        }


def missing(kind: str, index: int | None) -> str | None:
    """Return why torch has no such device, in the words that it begins to use one with; None if it has."""
    # Versions differ in whether torch.mps says so itself.
    if (torch.backends.mps if kind == "mps" else getattr(torch, kind)).is_available():
        return too_high(kind, index or 0, 1 if kind == "mps" else getattr(torch, kind).device_count())
    none = f"no {NAMES[kind]} device that torch {torch.__version__} can use"
    try:
        getattr(torch, kind).init()
    except Exception as error:  # of the driver, the runtime or torch
        return f"{none}: {first_line(first_cause(error))}"
    return none


def probe_device(device: str, precisions: Sequence[str]) -> dict[str, Any]:
    """Use the device for a moment. Return for each precision why it cannot be measured, None if it can, and whether
    that stays so until driver, torch or device change."""
    kind, index = split_device(device)
    reason = missing(kind, index)
    if not reason:
        if index is not None:
            getattr(torch, kind).set_device(index)
        reason = _wrong_product(kind)
    return {"reasons": {one: reason or why_not(kind, one) for one in precisions}, "lasting": not reason}


def _wrong_product(device: str) -> str | None:
    """Why a small product on the device, with another operation after it, is not what it is on the host."""
    try:
        square = torch.arange(16.0).reshape(4, 4)
        there = square.to(device)
        right = torch.equal((there @ there + 1).cpu(), square @ square + 1)
    except Exception as error:  # of the device, its driver or its libraries
        return f"a small product on it fails, with torch {torch.__version__}: {first_line(first_cause(error))}"
    return None if right else f"a small product on it is wrong, with torch {torch.__version__}"


def _never_held(of: Any, device: torch.device) -> int:
    """Bytes of the device that no program has."""
    try:
        return int(of.mem_get_info(device)[0])
    except RuntimeError:  # some of Intel's devices do not tell; they are this program's alone
        return int(of.get_device_properties(device).total_memory - of.memory_reserved(device))


def _name(device: torch.device) -> str:
    """What a device calls itself, where torch tells."""
    return str(torch.xpu.get_device_name(device)) if device.type == "xpu" else device.type


def why_not(device: str, precision: str) -> str | None:
    """Why torch cannot compute so on the current device of the kind; None if it can."""
    # AMD's libraries do so or not as their own environment says: the row could be fp32 under another name.
    if precision == "tf32" and (device != "cuda" or torch.version.hip or not torch.cuda.is_tf32_supported()):
        return "TF32 needs an NVIDIA GPU of 2020 or later"
    if precision == "bf16" and device == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        return "bf16 needs an NVIDIA GPU of 2020 or later"
    if precision == "bf16" and device == "xpu" and not torch.xpu.is_bf16_supported(including_emulation=False):
        return f"this {NAMES[device]} device has no bf16"
    if precision == "fp64" and (
        device == "mps" or (device == "xpu" and not torch.xpu.get_device_properties().has_fp64)
    ):
        return f"this {NAMES[device]} device has no fp64"
    return None
