"""Mistakes that only a GPU would show, and the test that must show each of them on the pretended one."""

from dataclasses import dataclass

_DEVICES, _GRAPHS = "tests/conformance/test_devices.py", "tests/conformance/test_graphs.py"
CHUNKS = f"{_DEVICES}::test_a_chunk_is_not_written_over_while_it_is_used[torch-cuda-fp32]"
FIRST_CHUNK = f"{_DEVICES}::test_the_first_chunk_waits_for_whoever_still_uses_the_memory_it_comes_to[torch-cuda-fp32]"
TEN_STEPS = f"{_DEVICES}::test_ten_steps_as_graphs_are_ten_plain_steps[rbm-torch-cuda-fp32]"
KEPT_SCRATCH = f"{_GRAPHS}::test_a_graph_outlives_the_scratch_of_a_longer_one[bf16]"
ONE_POOL = f"{_GRAPHS}::test_all_graphs_of_a_program_keep_no_more_than_one[fp32]"
WARNINGS = f"{_GRAPHS}::test_making_a_graph_warns_of_nothing[fp32]"
LAST_COPY = f"{_GRAPHS}::test_arrays_that_chunks_come_to_are_not_free_while_a_copy_is_under_way[fp32]"
_DEVICE, _TIMED = "tests/pretended_gpu/test_device.py", "tests/pretended_gpu/test_timed.py"
SUMS = f"{_DEVICE}::test_every_product_of_every_workload_sums_as_its_precision_says"
AS_GRAPHS = f"{_DEVICE}::test_a_step_is_asked_for_as_graphs_and_the_host_waits_for_nothing"
PLAIN = f"{_DEVICE}::test_a_step_that_is_no_graph_waits_for_nothing_and_keeps_no_memory"
TWINS = f"{_DEVICE}::test_copies_of_pinned_memory_are_asked_for_and_those_of_pageable_memory_waited_for[True]"
BESIDE = f"{_DEVICE}::test_a_chunk_comes_beside_the_steps_on_the_one_before"
LOWER = f"{_DEVICE}::test_libraries_may_use_lower_precision_only_where_the_row_says_so"
HELD = f"{_DEVICE}::test_what_torch_holds_and_no_array_uses_is_free"
LET_GO = f"{_DEVICE}::test_a_case_has_let_go_of_its_memory_before_the_next_is_looked_at"
BLOCKS = f"{_TIMED}::test_at_the_ends_of_blocks_and_of_a_first_step[rbm_streamed]"
ROOM = f"{_GRAPHS}::test_beside_what_is_said_to_be_free_products_and_graphs_have_room[fp32]"
REASON = f"{_GRAPHS}::test_a_step_that_cannot_be_captured_is_plain_and_says_what_it_was[fp32]"
KERNELS = "tests/backends/test_triton_kernels.py::test_the_kernels_agree_with_torchs_operations_and_write_nowhere_else"


@dataclass(frozen=True)
class Mistake:
    """`old` in a file of the package becomes `new`; `test` then fails, in that order of streams. A test of kernels by
    Triton's interpreter is not `on_gpu`."""

    name: str
    file: str
    old: str
    new: str
    test: str
    order: str = "lazy"
    on_gpu: bool = True


# Of a statement, what makes it do nothing.
NOTHING = "pass"

MISTAKES = (
    Mistake(
        "a copy does not wait for steps on the chunk before",
        "backends/_torch_device.py", "self._copying.wait_event(self._used[place])", NOTHING, CHUNKS, "reverse",
    ),
    Mistake(
        "steps do not wait for their chunk",
        "backends/_torch_device.py", "self._computing().wait_event(self._here[now])", NOTHING, CHUNKS,
    ),
    Mistake(
        "that the memory of the first chunk is free is not recorded",
        "backends/_torch_device.py", "self._used[0].record(self._computing())", NOTHING, FIRST_CHUNK, "reverse",
    ),
    Mistake(
        "torch is not told that the copying stream writes chunks",
        "backends/_torch_device.py", "array.record_stream(self._copying)", NOTHING, LAST_COPY,
    ),
    Mistake("a graph does not keep its step", "backends/_torch_device.py", "self._step = step", NOTHING, TEN_STEPS),
    Mistake("each graph has memory of its own", "backends/_torch_device.py", "pool=pool)", "pool=None)", ONE_POOL),
    Mistake(
        "products are not set up before a capture",
        "backends/_torch_device.py", "self.workspace_bytes = warm_up_products(self._stream, dtype)",
        "self.workspace_bytes = 0", WARNINGS,
    ),
    Mistake(
        "draws are the default generator's",
        "backends/_torch_steps.py", "uniform_(generator=self._random)", "uniform_()", TEN_STEPS,
    ),
    Mistake(
        "a step waits for the device",
        "backends/_torch_steps.py", "self._compare(draws.array, out, sample)",
        "self._compare(draws.array, out, sample); torch.cuda.synchronize()", TEN_STEPS,
    ),
    Mistake(
        "scratch that a graph remembers is freed",
        "backends/_torch_steps.py", "kept.append(torch.empty(", "kept[:] = []; kept.append(torch.empty(", KEPT_SCRATCH,
    ),
    Mistake(
        "fp32 is TF32",
        "backends/_torch.py", '"high" if precision == "tf32" else "highest"', '"high"', f"{SUMS}[fp32]",
    ),
    Mistake(
        "the end of a block waits for the stream of steps alone",
        "backends/_torch_device.py", "getattr(torch, self._device.type).synchronize(self._device)",
        "torch.cuda.current_stream(self._device).synchronize()", BLOCKS,
    ),
    Mistake(
        "a step is captured when it is first called",
        "backends/_torch_device.py", "return CapturedStep(step, self._random, self._stream, self._pool)",
        "made = []; later = lambda: CapturedStep(step, self._random, self._stream, self._pool); "
        "return lambda: (made or made.append(later()) or made)[0]()", f"{AS_GRAPHS}[fp32]",
    ),
    Mistake(
        "no step becomes a graph",
        "backends/_torch_device.py", "if not self._wanted:",
        "if True:", f"{AS_GRAPHS}[bf16]",
    ),
    Mistake(
        "convolutions in fp32 may use TF32",
        "backends/_torch_device.py", 'cudnn.allow_tf32 = precision == "tf32"',
        "cudnn.allow_tf32 = True", f"{LOWER}[fp32]",
    ),
    Mistake(
        "parts of a product in bf16 are added in bf16",
        "backends/_torch_steps.py", "allow_bf16_reduced_precision_reduction = False",
        "allow_bf16_reduced_precision_reduction = True", f"{LOWER}[bf16]",
    ),
    Mistake(
        "parameters are added to by products that were rounded",
        "backends/_torch_steps.py", "self.adds_itself = self._adds_itself()",
        "self.adds_itself = False", f"{LOWER}[bf16]",
    ),
    Mistake(
        "room for products and graphs counts as free",
        "backends/_torch_device.py", "free -= self._graphs.bytes_kept() + self._graphs.workspace_bytes",
        NOTHING, ROOM,
    ),
    Mistake(
        "what torch holds and no array uses is not free",
        "backends/_torch_device.py", "of.memory_reserved(here) - of.memory_allocated(here)",
        "0", HELD,
    ),
    Mistake(
        "scratch is made anew at every step",
        "backends/_torch_steps.py", "if not kept or len(kept[-1]) < rows:",
        "if True:", PLAIN,
    ),
    Mistake(
        "the last case's arrays stay while the next is built",
        "measure/case.py", "    gc.collect()\n    if reason",
        "    if reason", LET_GO,
    ),
    Mistake(
        "pinned memory is pageable",
        "backends/_torch_device.py", "host.pin_memory() if pinned else host",
        "host", TWINS,
    ),
    Mistake(
        "a copy to the device is waited for",
        "backends/_torch_device.py", "copy_(self._host, non_blocking=self._pinned)",
        "copy_(self._host)", TWINS,
    ),
    Mistake(
        "chunks lie in pageable memory",
        "backends/_torch_device.py", "chunk.to(dtype).pin_memory()",
        "chunk.to(dtype)", BESIDE,
    ),
    Mistake(
        "the copy of a chunk is waited for",
        "backends/_torch_device.py", "copy_(chunk, non_blocking=True)",
        "copy_(chunk)", BESIDE,
    ),
    Mistake(
        "chunks are copied on the stream of steps",
        "backends/_torch_device.py", "self._device, self._copying = device, torch.cuda.Stream(device)",
        "self._device, self._copying = device, torch.cuda.current_stream(device)", BESIDE,
    ),
    Mistake(
        "the host waits for steps on the chunk before",
        "backends/_torch_device.py", "self._copying.wait_event(self._used[place])",
        "self._used[place].synchronize()", BESIDE,
    ),
    Mistake(
        "graphs run on a stream that nothing waits for",
        "backends/_torch_device.py", "        self._graph.replay()",
        "        with torch.cuda.stream(torch.cuda.Stream()):\n            self._graph.replay()", TEN_STEPS, "reverse",
    ),
    Mistake(
        "the last error of a capture is told, not the first",
        "backends/_torch_device.py", "first_line(first_cause(error))",
        "first_line(error)", REASON,
    ),
    Mistake(
        "a kernel writes beyond its array",
        "backends/_torch_triton.py", "    here = at < count\n",
        "    here = at < count + 3\n", KERNELS, on_gpu=False,
    ),
    Mistake(
        "a kernel sums a row without its last piece",
        "backends/_torch_triton.py", "        norms += tl.abs(s)",
        "        norms += tl.where(at < 512, tl.abs(s), 0.0)", KERNELS, on_gpu=False,
    ),
    Mistake(
        "a row takes a length after its search is over",
        "backends/_torch_triton.py", "(t * on > 0.0)",
        "(t > 0.0)", KERNELS, on_gpu=False,
    ),
)  # fmt: skip
