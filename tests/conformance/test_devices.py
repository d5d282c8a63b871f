"""What accelerators do otherwise: steps as graphs, examples copied beside the computing, memory of their own."""

from dataclasses import replace

import numpy as np
import pytest

from respeed.inputs.registry import workloads
from respeed.measure.case import make_bench, measure_case
from respeed.model.paper import Case
from respeed.paths import RoundId
from respeed.schedule.spec import make_spec
from respeed.workloads.rbm import BATCHES, CHUNK, CHUNKS, Rbm, RbmStreamed
from tests.conformance.programs import Place, build, case_of, make, places, state_after
from tests.pretended_gpu.environment import is_pretended

STREAMED = [
    *places("fp32", on="cpu", offering=("stream", "sample_layer", "draws")),
    *(Place("openblas", precision="fp64"), Place("torch", precision="fp64"), Place("torch", precision="bf16")),
]
GPUS = places(on="cuda", backend="torch")
on_gpus = pytest.mark.parametrize("place", GPUS)
ON_DEVICE = [name for name, facts in workloads().items() if "torch" in facts.backends]


def assert_same(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        # Of one order of sums: what rounding a library may do otherwise from call to call is far below this.
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


@on_gpus
@pytest.mark.parametrize("workload", ON_DEVICE)
def test_ten_steps_as_graphs_are_ten_plain_steps(place: Place, workload: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if place.precision not in workloads()[workload].precisions:
        pytest.skip(f"{workload} does not run in {place.precision}")
    case, plain = case_of(workload, "odd"), make(*place, seed=7)
    monkeypatch.setattr(plain, "captured", lambda step: step)
    wanted = state_after(build(plain, case), 10, plain)
    graphs = make(*place, seed=7)
    assert_same(state_after(build(graphs, case), 10, graphs), wanted)


@on_gpus
def test_a_graph_draws_anew_at_each_run(place: Place) -> None:
    made, case = make(*place), case_of("rbm", "odd")
    program = build(made, case)
    drawn = [state_after(program, BATCHES, made)["uniform"] for _ in range(3)]
    assert (drawn[0] != drawn[1]).mean() > 0.9
    assert (drawn[1] != drawn[2]).mean() > 0.9


@pytest.mark.parametrize("place", [*STREAMED, *GPUS])
def test_streamed_examples_are_learned_as_if_they_lay_on_the_device(place: Place) -> None:
    case = case_of("rbm_streamed", "odd")
    inputs = RbmStreamed().inputs(case, seed=5)
    # Twice around and a little further: every chunk has come to both places, and one is under way.
    steps = 2 * CHUNK * CHUNKS + 3
    resident = make(*place)
    flat = {**inputs, "examples": np.asarray(inputs["examples"]).reshape(-1, *inputs["examples"].shape[2:])}
    wanted = state_after(Rbm().build(resident, case, flat), steps, resident)
    streaming = make(*place)
    assert_same(state_after(RbmStreamed().build(streaming, case, inputs), steps, streaming), wanted)


@on_gpus
def test_a_chunk_is_not_written_over_while_it_is_used(place: Place) -> None:
    """Each chunk has one number throughout; long products between hold the steps up, and a copy must wait for them."""
    made = make(*place)
    stream = made.stream([np.full((64, 64), number, np.float32) for number in range(5)])
    # The pretended device needs nothing to hold it up: it works in an order of its own.
    size, seen = 64 if is_pretended() else 2048, []
    square, product = made.array(np.ones((size, size))), made.zeros(size, size)
    for _ in range(12):
        place = stream.advance()
        for _ in range(5):
            made.gemm(square, square, product)
        kept = made.zeros(64, 64)
        made.copy(stream.arrays[place], kept)
        seen.append(kept)
    made.sync()
    for number, kept in enumerate(seen):
        np.testing.assert_array_equal(made.host(kept), number % 5)


@on_gpus
def test_the_first_chunk_waits_for_whoever_still_uses_the_memory_it_comes_to(place: Place) -> None:
    """The array before it is freed while steps on it are still asked for; the memory is then the chunks'."""
    made, shape = make(*place), (1000, 1111)
    size = 64 if is_pretended() else 2048
    square, product = made.array(np.ones((size, size))), made.zeros(size, size)
    earlier, kept = made.array(np.full(shape, 1.0)), made.zeros(*shape)
    made.sync()
    for _ in range(20):
        made.gemm(square, square, product)
    made.copy(earlier, kept)
    address = earlier.data_ptr()
    del earlier
    stream = made.stream([np.full(shape, 2.0, np.float32)] * 3)
    assert stream.arrays[0].data_ptr() == address
    made.sync()
    np.testing.assert_array_equal(made.host(kept), 1.0)


@on_gpus
def test_a_case_that_does_not_fit_is_not_run_and_one_that_runs_out_of_memory_fails_alone(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    made = make(*place)
    large, small = {"m": 4096, "k": 4096, "n": 4096}, {"m": 64, "k": 64, "n": 64}
    cases = tuple(Case(name, "matmul", size) for name, size in (("large", large), ("small", small)))
    spec = make_spec(RoundId("box", "raina2009", "matmul", "torch-1", 1, smoke=True), 1)
    spec = replace(spec, cases=cases, profile=replace(spec.profile, device=place.device, precision=place.precision))
    bench, _ = make_bench(made)
    monkeypatch.setattr(made, "bytes_free", lambda: 1e7)
    facts = measure_case(spec, 0, bench)
    assert (facts["status"], facts["blocks"]) == ("not-run", [])
    assert facts["reason"].startswith("needs ")
    assert facts["reason"].endswith(" GB of GPU memory, has 0.0")
    monkeypatch.undo()
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 2**26) / total)
    try:
        facts = measure_case(spec, 0, bench)
        assert facts["status"] == "failed"
        assert "OutOfMemory" in facts["reason"]
        assert measure_case(spec, 1, bench)["status"] == "measured"
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


@on_gpus
def test_the_free_memory_shrinks_by_what_is_allocated(place: Place) -> None:
    made = make(*place)
    before = made.bytes_free()
    kept = made.zeros(1024, 1024, 16)
    after = made.bytes_free()
    assert before is not None
    assert after is not None
    assert before - after >= 0.9 * 2 * 2**24
    del kept
