"""Steps as CUDA graphs, captured once and then run by one launch; torch uses this name for ROCm's graphs as well."""

import gc
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import torch

from respeed.backends import first_cause, set_within
from respeed.errors import NotMeasurable
from respeed.text import first_line
from respeed.workloads import Step


class Graphs:
    """Makes graphs of steps, which share one pool of scratch memory, as they never run at the same time.

    Memory that a step allocates while it is captured, such as a library's workspace (32 MiB on large GPUs), stays in
    the pool as long as the graph lives. If each graph of a program had its own pool, each would keep such a workspace.
    """

    def __init__(self, device: torch.device, dtype: torch.dtype, random: torch.Generator) -> None:
        self._device = device
        self._random = random
        self._stream = torch.cuda.Stream(device)
        self._wanted = True
        self._troubles: dict[str, None] = {}
        self.workspace_bytes = warm_up_products(self._stream, dtype)
        square = torch.zeros(64, 64, dtype=dtype, device=device)
        out = torch.zeros_like(square)
        self._product: Step = lambda: torch.mm(square, square, out=out)
        self._begin_pool()

    def _begin_pool(self) -> None:
        """Create a pool for the coming graphs, and capture a matrix product in it.

        As long as the product's graph lives, the pool stays, and has room for the workspace. So arrays can take all
        memory that is free after this call.
        """
        self._pool = torch.cuda.graph_pool_handle()
        try:
            self._first = self._capture(self._product)
        except Exception as error:  # whatever it is: no step becomes a graph here
            self._pool = torch.cuda.graph_pool_handle()
            self._note(error)

    def captured(self, step: Step, *, by_autograd: bool, undo: Step | None) -> Step:
        """Return the step as a graph, or the step itself if it cannot be captured; `why_plain` returns the reason.

        A library may have to try its algorithms at this size before a capture, which does not allow such tries: cuDNN
        then finds no algorithm. So after a capture that failed, the step is run once on the stream of captures, undone
        by `undo`, and captured again. A net (`by_autograd`) is not captured again: it has run such a step itself,
        because its batch statistics could not be undone.
        """
        if not self._wanted:
            return step
        if by_autograd and torch.version.hip:
            # A thread of autograd's makes handles of hipBLASLt within the capture, which then never ends.
            self._troubles["torch's gradients are not captured on ROCm"] = None
            return step
        try:
            return self._capture(step)
        except NotMeasurable:
            raise
        except Exception as error:  # of any library: the step itself shows whether more than the capture fails
            # Versions of torch differ in the state of the pool after a failure; and before 2.14, nothing may draw
            # random numbers between a capture that failed and one that succeeds.
            self._begin_pool()
            if by_autograd or not undo:
                self._note(error)
                return step
        with on_stream(self._stream):
            step()
        undo()
        return self.captured(step, by_autograd=by_autograd, undo=None)

    def _capture(self, step: Step) -> Step:
        """Return a function that runs the step as a graph.

        A capture computes nothing, so the check after the function's first call sees the graph's own result. The step
        is captured now, and not in that first call, because the call may be timed.
        """
        graph = torch.cuda.CUDAGraph()
        # Each run continues the generator's sequence, as the step itself would. Newer graphs find the generator.
        if torch.__version__ < (2, 14):
            graph.register_generator_state(self._random)
        # `current`: before 2.14, a capture that fails leaves torch's own stream the current one.
        current = torch.cuda.stream(torch.cuda.current_stream(self._device))
        with no_garbage(), current, torch.cuda.graph(graph, stream=self._stream, pool=self._pool):
            step()
        graph.step = step  # a graph knows addresses alone: whoever keeps it keeps the step's arrays
        run: Step = graph.replay
        return run

    def _note(self, error: Exception) -> None:
        self._troubles[first_line(first_cause(error))] = None

    def why_plain(self) -> str | None:
        """Return why steps could not be captured since this was last called; None if all were captured."""
        reasons = "; ".join(self._troubles)
        self._troubles.clear()
        return reasons or None

    def none(self) -> AbstractContextManager[None]:
        """Within this context, make no graphs: launch steps operation by operation."""
        return set_within(self, "_wanted", False)

    def bytes_kept(self) -> int:
        """Return how many bytes of the graphs' memory are reserved but hold no array."""
        return sum(
            segment["total_size"] - segment["allocated_size"]
            for segment in torch.cuda.memory_snapshot()
            if segment["device"] == self._stream.device.index and tuple(segment["segment_pool_id"]) != (0, 0)
        )


@contextmanager
def no_garbage() -> Iterator[None]:
    """Collect Python's garbage now, and collect none within this context.

    Freeing an old graph or array may wait for the device (it does for ROCm's graphs), and a wait during a capture makes
    the capture invalid.
    """
    gc.collect(1)  # young objects: before a case is built, all is collected, and a program may have many graphs
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextmanager
def on_stream(stream: torch.cuda.Stream) -> Iterator[None]:
    """Within this context, run on the stream; at the end, wait until the device is done."""
    stream.wait_stream(torch.cuda.current_stream(stream.device))
    with torch.cuda.stream(stream):
        yield
    torch.cuda.synchronize(stream.device)


def warm_up_products(stream: torch.cuda.Stream, dtype: torch.dtype) -> int:
    """Run matrix products on the stream, so that the libraries set up there what they cannot within a capture.

    These are handles, and workspaces if torch keeps workspaces. If torch does not, each product allocates some bytes
    and frees them; return how many.
    """
    device = stream.device
    with on_stream(stream):
        square = torch.zeros(64, 64, dtype=dtype, device=device)
        bias = torch.zeros(64, dtype=dtype, device=device)
        torch.cuda.reset_peak_memory_stats(device)
        torch.addmm(square, square, square)
        torch.addmm(bias, square, square)
        torch.baddbmm(square[None], square[None], square[None])
        taken = torch.cuda.max_memory_allocated(device) - torch.cuda.memory_allocated(device)
    return int(taken)
