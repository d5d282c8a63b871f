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
SUMS = "tests/pretended_gpu/test_device.py::test_every_product_of_every_workload_sums_as_its_precision_says"


@dataclass(frozen=True)
class Mistake:
    """`old` in a file of backends becomes `new`; `test` then fails, in that order of streams."""

    name: str
    file: str
    old: str
    new: str
    test: str
    order: str = "lazy"


# Of a statement, what makes it do nothing.
NOTHING = "pass"

MISTAKES = (
    Mistake(
        "a copy does not wait for steps on the chunk before",
        "_torch_device.py", "self._copying.wait_event(self._used[place])", NOTHING, CHUNKS, "reverse",
    ),
    Mistake(
        "steps do not wait for their chunk",
        "_torch_device.py", "self._computing().wait_event(self._here[now])", NOTHING, CHUNKS,
    ),
    Mistake(
        "that steps are done with a chunk is not recorded",
        "_torch_device.py", "self._used[1 - now].record(self._computing())", NOTHING, CHUNKS, "reverse",
    ),
    Mistake(
        "that the memory of the first chunk is free is not recorded",
        "_torch_device.py", "self._used[0].record(self._computing())", NOTHING, FIRST_CHUNK, "reverse",
    ),
    Mistake(
        "that a chunk has come is not recorded",
        "_torch_device.py", "self._here[place].record(self._copying)", NOTHING, CHUNKS,
    ),
    Mistake(
        "the other chunk's place is given",
        "_torch_device.py", "now = (self._asked - 1) % 2", "now = self._asked % 2", CHUNKS,
    ),
    Mistake(
        "torch is not told that the copying stream writes chunks",
        "_torch_device.py", "array.record_stream(self._copying)", NOTHING, LAST_COPY,
    ),
    Mistake("a graph does not keep its step", "_torch_device.py", "self._step = step", NOTHING, TEN_STEPS),
    Mistake("each graph has memory of its own", "_torch_device.py", "pool=pool)", "pool=None)", ONE_POOL),
    Mistake(
        "products are not set up before a capture",
        "_torch_device.py", "self.workspace_bytes = warm_up_products(self._stream, dtype)", "self.workspace_bytes = 0",
        WARNINGS,
    ),
    Mistake(
        "draws are the default generator's",
        "_torch_steps.py", "uniform_(generator=self._random)", "uniform_()", TEN_STEPS,
    ),
    Mistake(
        "draws lie on the host",
        "_torch_steps.py", "torch.full(shape, 0.0, dtype=self._wide, device=self._device)",
        "torch.full(shape, 0.0, dtype=self._wide)", TEN_STEPS,
    ),
    Mistake(
        "a step waits for the device",
        "_torch_steps.py", "self._between.sample(out, bias, draws.array, sample, scale)",
        "self._between.sample(out, bias, draws.array, sample, scale); torch.cuda.synchronize()", TEN_STEPS,
    ),
    Mistake(
        "scratch that a graph remembers is freed",
        "_torch_steps.py", "kept.append(torch.empty(", "kept[:] = []; kept.append(torch.empty(", KEPT_SCRATCH,
    ),
    Mistake(
        "fp32 is TF32",
        "_torch.py", '"high" if precision == "tf32" else "highest"', '"high"', f"{SUMS}[fp32]",
    ),
    Mistake(
        "TF32 is fp32",
        "_torch.py", '"high" if precision == "tf32" else "highest"', '"highest"', f"{SUMS}[tf32]",
    ),
)  # fmt: skip
