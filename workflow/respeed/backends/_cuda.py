"""Steps as graphs of CUDA, and of ROCm, which torch calls the same: captured once, and then run by one launch."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from respeed.backends import Step, first_cause
from respeed.errors import NotMeasurable
from respeed.text import first_line


class Graphs:
    """Makes graphs of steps, all with scratch memory from one pool: they run one after another, never at once.

    What a step allocates while it is captured, such as a library's workspace (32 MiB on large GPUs), belongs to the
    graph as long as it lives. With a pool of its own, each graph of a program would keep as much.
    """

    def __init__(self, device: torch.device, dtype: torch.dtype, random: torch.Generator) -> None:
        self._device, self._random, self._stream = device, random, torch.cuda.Stream(device)
        self._wanted = True
        self._troubles: dict[str, None] = {}
        self.workspace_bytes = warm_up_products(self._stream, dtype)
        a, b, out = (torch.zeros(64, 64, dtype=dtype, device=device) for _ in range(3))
        self._product: Step = lambda: torch.mm(a, b, out=out)
        self._begin_pool()

    def _begin_pool(self) -> None:
        """Take a pool for the coming graphs, and make a graph of a product in it.

        As long as this graph lives, the pool stays, with room for the workspace: arrays can have all memory that is
        free afterwards.
        """
        self._pool = torch.cuda.graph_pool_handle()
        try:
            self._first = self._capture(self._product)
        except Exception as error:  # whatever it is: no step becomes a graph here
            self._pool = torch.cuda.graph_pool_handle()
            self._note(error)

    def captured(self, step: Step, *, by_autograd: bool, undo: Step | None) -> Step:
        """Return the step as a graph, or the step itself if it cannot be captured; `why_plain` then has the reason.

        A library may have to try its algorithms at this size first, which no capture allows: cuDNN then finds none. So
        a step that was not captured is done once on the stream of captures, undone by `undo`, and captured again. A net
        has done such a step itself: its statistics of batches could not be undone.
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
            # Versions differ in the state of the pool then; and before 2.14 nothing may draw after a capture that
            # failed until one ends well.
            self._begin_pool()
            if by_autograd or not undo:
                self._note(error)
                return step
        self._do_once(step)
        undo()
        return self.captured(step, by_autograd=by_autograd, undo=None)

    def _do_once(self, step: Step) -> None:
        """Do the step on the stream of captures, and wait for it."""
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream):
            step()
        torch.cuda.synchronize(self._device)

    def _capture(self, step: Step) -> Step:
        """Return the step as a graph, which each call runs.

        Capturing runs nothing: the check after the first call is of the graph's own result. The step is captured at
        once, not when it is first called, because that call may be timed.
        """
        graph = torch.cuda.CUDAGraph()
        # Each run goes on in the generator's sequence, as the step itself would. Newer graphs find it themselves.
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
        """Return why steps since the last call could not be captured; None if all were."""
        reasons, self._troubles = "; ".join(self._troubles), {}
        return reasons or None

    @contextmanager
    def none(self) -> Iterator[None]:
        """Launch steps operation by operation, and make no graphs."""
        before, self._wanted = self._wanted, False
        try:
            yield
        finally:
            self._wanted = before

    def bytes_kept(self) -> int:
        """Count the bytes that are kept for graphs and hold no array."""
        return sum(
            segment["total_size"] - segment["allocated_size"]
            for segment in torch.cuda.memory_snapshot()
            if segment["device"] == self._stream.device.index and tuple(segment["segment_pool_id"]) != (0, 0)
        )


@contextmanager
def no_garbage() -> Iterator[None]:
    """Collect garbage now, and none within the block.

    An old graph or array that is freed while a step is captured may wait for the device (ROCm's graphs do), and a
    capture that waits is invalid.
    """
    gc.collect(1)  # young objects: before a case is built, all is collected, and a program may have many graphs
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def warm_up_products(stream: torch.cuda.Stream, dtype: torch.dtype) -> int:
    """Do products on the stream, so that their libraries set up there what a graph cannot hold.

    These are handles, and workspaces where torch keeps them. Where torch does not, a product takes some bytes and frees
    them: return how many.
    """
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
