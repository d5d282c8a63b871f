"""Mistakes that only a GPU would show, and the test that must show each of them on the pretended one."""

from dataclasses import dataclass

_DEVICES = "tests/conformance/test_devices.py"
_CUDA, _TORCH = "backends/_cuda.py", "backends/torch.py"
CHUNKS = f"{_DEVICES}::test_a_chunk_is_not_written_over_while_it_is_used[fp32]"
FIRST_CHUNK = f"{_DEVICES}::test_the_first_chunk_waits_for_whoever_still_uses_the_memory_it_comes_to[fp32]"
LAST_COPY = f"{_DEVICES}::test_arrays_that_chunks_come_to_are_not_free_while_a_copy_is_under_way[fp32]"
TEN_STEPS = f"{_DEVICES}::test_ten_steps_as_graphs_are_ten_plain_steps[fp32-rbm-odd]"
ONE_POOL = f"{_DEVICES}::test_all_graphs_of_a_program_keep_no_more_than_one[fp32]"
ROOM = f"{_DEVICES}::test_beside_what_is_said_to_be_free_products_and_graphs_have_room[fp32]"
REASON = f"{_DEVICES}::test_a_step_that_cannot_be_captured_is_plain_and_says_what_it_was[fp32]"
_DEVICE, _TIMED = "tests/pretended_gpu/test_device.py", "tests/pretended_gpu/test_timed.py"
SUMS = f"{_DEVICE}::test_every_product_of_every_workload_sums_as_its_precision_says"
AS_GRAPHS = f"{_DEVICE}::test_a_step_is_asked_for_as_graphs_and_the_host_waits_for_nothing"
PLAIN = f"{_DEVICE}::test_a_step_that_is_no_graph_waits_for_nothing_and_keeps_no_memory"
COPIES = f"{_DEVICE}::test_copies_of_pinned_memory_are_asked_for_and_those_of_pageable_memory_waited_for[to-pinned]"
BESIDE = f"{_DEVICE}::test_a_chunk_comes_beside_the_steps_on_the_one_before"
LOWER = f"{_DEVICE}::test_libraries_may_use_lower_precision_only_where_the_row_says_so"
HELD = f"{_DEVICE}::test_what_torch_holds_and_no_array_uses_is_free"
KEEPS = f"{_DEVICE}::test_a_graph_keeps_what_its_step_works_on"
LET_GO = f"{_DEVICE}::test_a_case_has_let_go_of_its_memory_before_the_next_is_looked_at"
BLOCKS = f"{_TIMED}::test_each_way_to_time_a_program_waits_for_it[streamed-blocks]"
KERNELS = "tests/kernels/test_fused.py::test_the_kernels_agree_with_the_compiled_passes_and_write_nowhere_else"


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
    Mistake("a copy does not wait for steps on the chunk before",
        _CUDA, "self._copying.wait_event(self._used[place])", NOTHING, CHUNKS, "reverse"),
    Mistake("steps do not wait for their chunk",
        _CUDA, "self._computing().wait_event(self._here[now])", NOTHING, CHUNKS),
    Mistake("that the memory of the first chunk is free is not recorded",
        _CUDA, "self._used[0].record(self._computing())", NOTHING, FIRST_CHUNK, "reverse"),
    Mistake("torch is not told that the copying stream writes chunks",
        _CUDA, "array.record_stream(self._copying)", NOTHING, LAST_COPY),
    Mistake("each graph has memory of its own", _CUDA, "pool=self._pool)", "pool=None)", ONE_POOL),
    Mistake("products are not set up before a capture",
        _CUDA, "self.workspace_bytes = warm_up_products(self._stream, dtype)", "self.workspace_bytes = 0", ROOM),
    Mistake("draws are the default generator's", _TORCH, "uniform_(generator=self._random)", "uniform_()", TEN_STEPS),
    Mistake("a step waits for the device", "workloads/rbm.py", "v0.copy_(a.x)", "v0.copy_(a.x); row.sync()", TEN_STEPS),
    Mistake("a step keeps memory",
        "workloads/rbm.py", "v0.copy_(a.x)", "v0.copy_(a.x); a.__dict__.setdefault('kept', []).append(v0.clone())",
        PLAIN),
    Mistake("fp32 is TF32",
        _TORCH, '"high" if precision == "tf32" else "highest"', '"high"', f"{SUMS}[fp32]"),
    Mistake("the end of a block waits for the stream of steps alone",
        _TORCH, "self._of.synchronize(self.device)",
        "torch.cuda.current_stream(self.device).synchronize()", BLOCKS),
    Mistake("a step is captured when it is first called",
        _CUDA, "            return self._capture(step)",
        "            made = []\n            return lambda: (made or made.append(self._capture(step)) or made)[0]()",
        f"{AS_GRAPHS}[fp32]"),
    Mistake("no step becomes a graph", _CUDA, "if not self._wanted:", "if True:", f"{AS_GRAPHS}[bf16]"),
    Mistake("convolutions in fp32 may use TF32",
        _TORCH, 'cudnn.allow_tf32 = precision == "tf32"', "cudnn.allow_tf32 = True", f"{LOWER}[fp32]"),
    Mistake("parts of a product in bf16 are added in bf16",
        _TORCH, "allow_bf16_reduced_precision_reduction = False",
        "allow_bf16_reduced_precision_reduction = True", f"{LOWER}[bf16]"),
    Mistake("what is learned is added to by products that were rounded",
        _TORCH, "self._low and self._can_add()", "False", f"{LOWER}[bf16]"),
    Mistake("room for products and graphs counts as free",
        _TORCH, "free -= self._graphs.bytes_kept() + self._graphs.workspace_bytes", NOTHING, ROOM),
    Mistake("what torch holds and no array uses is not free",
        _TORCH, "of.memory_reserved(here) - of.memory_allocated(here)", "0", HELD),
    Mistake("the last case's arrays stay while the next is built",
        "measure/case.py", "    gc.collect()\n    try", "    try", LET_GO),
    Mistake("pinned memory is pageable",
        "workloads/vector_sum.py", 'copied.pin_memory() if memory == "pinned" else copied', "copied", COPIES),
    Mistake("a copy to the device is waited for",
        "workloads/vector_sum.py", 'a.out.copy_(a.source, non_blocking=self.memory == "pinned")',
        "a.out.copy_(a.source)", COPIES),
    Mistake("chunks lie in pageable memory", _CUDA, "chunk.pin_memory() for", "chunk for", BESIDE),
    Mistake("the copy of a chunk is waited for", _CUDA, "copy_(chunk, non_blocking=True)", "copy_(chunk)", BESIDE),
    Mistake("chunks are copied on the stream of steps",
        _CUDA, "self._device, self._copying = device, torch.cuda.Stream(device)",
        "self._device, self._copying = device, torch.cuda.current_stream(device)", BESIDE),
    Mistake("the host waits for steps on the chunk before",
        _CUDA, "self._copying.wait_event(self._used[place])", "self._used[place].synchronize()", BESIDE),
    Mistake("graphs run on a stream that nothing waits for",
        _CUDA, "        run: Step = graph.replay",
        "        def run():\n            with torch.cuda.stream(torch.cuda.Stream()):\n                graph.replay()",
        TEN_STEPS, "reverse"),
    Mistake("a graph does not keep its step", _CUDA, "graph.step = step", NOTHING, KEEPS),
    Mistake("the last error of a capture is told, not the first",
        _CUDA, "first_line(first_cause(error))", "first_line(error)", REASON),
    Mistake("a kernel writes beyond its array",
        "kernels/fused.py", "    inside, place = at < columns,", "    inside, place = at < columns + 3,", KERNELS,
        on_gpu=False),
    Mistake("a kernel sums a row without its last piece",
        "kernels/fused.py", "        norms += tl.abs(x)", "        norms += tl.where(at < 512, tl.abs(x), 0.0)",
        KERNELS, on_gpu=False),
    Mistake("a row takes a length after its search is over",
        "kernels/fused.py", "(t * on > 0.0)", "(t > 0.0)", KERNELS, on_gpu=False),
)  # fmt: skip
