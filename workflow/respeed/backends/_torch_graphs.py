"""Steps as graphs, on CUDA devices and ROCm's, which torch calls the same: asked for once, then run by one launch."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from respeed.backends import Step
from respeed.errors import NotMeasurable

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
            self._troubles[_in_words(first_cause(error))] = None
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


def _in_words(error: BaseException) -> str:
    """The first line: those after it are the same for every error of the device."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
