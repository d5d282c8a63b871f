"""Mistakes that only a GPU would show, and the test that must show each of them on the pretended one."""

from typing import NamedTuple

DEVICES = "tests/conformance/test_devices.py::test_"
DEVICE = "tests/pretended_gpu/test_device.py::test_"
# By Triton's interpreter, on the CPU.
KERNELS = "tests/kernels/test_fused.py::test_the_kernels_agree_with_the_compiled_passes_and_write_nowhere_else"

TEN_STEPS = f"{DEVICES}ten_steps_as_graphs_are_ten_plain_steps[fp32-rbm-odd]"
ROOM = f"{DEVICES}beside_what_is_said_to_be_free_products_and_graphs_have_room[fp32]"
AS_GRAPHS = f"{DEVICE}a_step_is_asked_for_as_graphs_and_the_host_waits_for_nothing[rbm-{{}}]"
COPIES = f"{DEVICE}copies_of_pinned_memory_are_asked_for_and_those_of_pageable_memory_waited_for[to-pinned]"
LOWER = f"{DEVICE}libraries_may_use_lower_precision_only_where_the_row_says_so[{{}}]"


class Mistake(NamedTuple):
    """`old` in a file of the package becomes `new`; then `test` fails."""

    name: str
    file: str
    old: str
    new: str
    test: str


_CUDA, _TORCH, _COPIED, _FUSED = "backends/_cuda.py", "backends/torch.py", "workloads/vector_sum.py", "kernels/fused.py"
MISTAKES = (
    Mistake("each graph has memory of its own", _CUDA, "pool=self._pool)", "pool=None)",
        f"{DEVICES}all_graphs_of_a_program_keep_no_more_than_one[fp32]"),
    Mistake("products are not set up before a capture",
        _CUDA, "self.workspace_bytes = warm_up_products(self._stream, dtype)", "self.workspace_bytes = 0", ROOM),
    Mistake("room for products and graphs counts as free",
        _TORCH, "free -= self._graphs.bytes_kept() + self._graphs.workspace_bytes", "pass", ROOM),
    Mistake("what torch holds and no array uses is not free",
        _TORCH, "of.memory_reserved(here) - of.memory_allocated(here)", "0",
        f"{DEVICE}what_torch_holds_and_no_array_uses_is_free"),
    Mistake("the last case's arrays stay while the next is built",
        "measure/case.py", "    gc.collect()\n    try", "    try",
        f"{DEVICE}a_case_has_let_go_of_its_memory_before_the_next_is_looked_at"),
    Mistake("draws are the default generator's", _TORCH, "uniform_(generator=self._random)", "uniform_()", TEN_STEPS),
    Mistake("a step waits for the device", "workloads/rbm.py", "v0.copy_(a.x)", "v0.copy_(a.x); row.sync()", TEN_STEPS),
    Mistake("a step keeps memory",
        "workloads/rbm.py", "v0.copy_(a.x)", "v0.copy_(a.x); a.__dict__.setdefault('kept', []).append(v0.clone())",
        f"{DEVICE}a_step_that_is_no_graph_waits_for_nothing_and_keeps_no_memory[rbm]"),
    Mistake("a step is captured when it is first called",
        _CUDA, "            return self._capture(step)",
        "            made = []\n            return lambda: (made or made.append(self._capture(step)) or made)[0]()",
        AS_GRAPHS.format("fp32")),
    Mistake("no step becomes a graph", _CUDA, "if not self._wanted:", "if True:", AS_GRAPHS.format("bf16")),
    Mistake("graphs run on a stream that nothing waits for",
        _CUDA, "        run: Step = graph.replay",
        "        def run():\n            with torch.cuda.stream(torch.cuda.Stream()):\n                graph.replay()",
        TEN_STEPS),
    Mistake("a graph does not keep its step",
        _CUDA, "graph.step = step", "pass", f"{DEVICE}a_graph_keeps_what_its_step_works_on"),
    Mistake("the last error of a capture is told, not the first",
        _CUDA, "first_line(first_cause(error))", "first_line(error)",
        f"{DEVICES}a_step_that_cannot_be_captured_is_plain_and_says_what_it_was[fp32]"),
    Mistake("fp32 is TF32", _TORCH, '"high" if precision == "tf32" else "highest"', '"high"',
        f"{DEVICE}every_product_of_every_workload_sums_as_its_precision_says[fp32]"),
    Mistake("convolutions in fp32 may use TF32",
        _TORCH, 'cudnn.allow_tf32 = precision == "tf32"', "cudnn.allow_tf32 = True", LOWER.format("fp32")),
    Mistake("parts of a product in bf16 are added in bf16",
        _TORCH, "allow_bf16_reduced_precision_reduction = False", "allow_bf16_reduced_precision_reduction = True",
        LOWER.format("bf16")),
    Mistake("what is learned is added to by products that were rounded",
        _TORCH, "self._low and self._can_add()", "False", LOWER.format("bf16")),
    Mistake("pinned memory is pageable",
        _COPIED, 'copied.pin_memory() if memory == "pinned" else copied', "copied", COPIES),
    Mistake("a copy to the device is waited for",
        _COPIED, 'a.out.copy_(a.source, non_blocking=self.memory == "pinned")', "a.out.copy_(a.source)", COPIES),
    Mistake("a kernel writes beyond its array",
        _FUSED, "    inside, place = at < columns,", "    inside, place = at < columns + 3,", KERNELS),
    Mistake("a kernel sums a row without its last piece",
        _FUSED, "        norms += tl.abs(x)", "        norms += tl.where(at < 512, tl.abs(x), 0.0)", KERNELS),
    Mistake("a row takes a length after its search is over", _FUSED, "(t * on > 0.0)", "(t > 0.0)", KERNELS),
)  # fmt: skip
