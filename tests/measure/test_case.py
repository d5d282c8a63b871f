"""One case, measured for real in this process: what its facts say, and that nothing wrong shows a time."""

import errno
import itertools
import json
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from respeed import kernels
from respeed.backends import Backend, make_backend
from respeed.errors import NotMeasurable, WrongResult
from respeed.inputs.machines import load_profile
from respeed.inputs.papers import load_paper
from respeed.machine.devices import EnergyCounter
from respeed.measure import case as measuring
from respeed.measure import timing
from respeed.measure.order import Job, Order, untimed
from respeed.measure.timing import NO_METER, Meter
from respeed.model import Case
from respeed.records import Result
from respeed.workloads import make_workload
from respeed.workloads.arrays import largest_error, moved
from respeed.workloads.rbm import Rbm
from tests.measure.test_blocks import QUIET
from tests.orders import order_of

ORDER, FP64 = order_of(), order_of("openblas-1-fp64")
PATCHES = load_paper("raina2009").experiments["patches"]


def backend(precision: str = "fp32") -> Backend:
    return make_backend("numpy", device="cpu", precision=precision, threads=1, seed=1)


def bench(made: Backend | None = None, meter: Meter = NO_METER) -> measuring.Bench:
    return measuring.make_bench(made or backend(), meter)[0]


def measured(
    one: measuring.Bench | None = None, case: Case | None = None, number: int = 1, **changed: Any
) -> dict[str, Any]:
    """The facts of the case, by default of the first smoke case; of an order with these changes."""
    first = ORDER.cases[0]
    asked = Job(case, number, first.source) if case else replace(first, rehearsals=(), number=number)
    return measuring.measure_case(replace(ORDER, **changed), asked, one or bench())


def is_without_times(facts: dict[str, Any], status: str, reason: str) -> bool:
    found = (facts["status"], facts.get("warmup"), facts["blocks"], bool(re.match(reason, facts["reason"])))
    return found == (status, None, [], True)


def corrupted(after: int) -> Any:
    """Rbm's step, but that one number of what it computes is off from the call after so many on."""
    correct, calls = Rbm.step, [0]

    def step(self: Rbm, a: Any, row: Any) -> None:
        correct(self, a, row)
        calls[0] += 1
        a.h[-1, -1] += 0.01 if calls[0] > after else 0.0

    return step


@pytest.mark.parametrize(("number", "after", "when"), [(1, 0, ""), (2, 2, "after timed steps: ")])
def test_a_wrong_step_shows_no_time(number: int, after: int, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In round 1 the first step is checked, in round 2 the last."""
    one = bench()
    assert measured(one, number=number)["status"] == "measured"
    monkeypatch.setattr(Rbm, "step", corrupted(after))
    assert is_without_times(measured(one, number=number), "wrong", f"{when}wrong result: ")


def test_a_case_without_times_makes_a_whole_result() -> None:
    job = replace(ORDER.cases[0], number=3)
    result = Result.model_validate_json(json.dumps(untimed(job, "failed", "killed")))
    assert (result.key, result.number, result.source) == (job.case.key, 3, job.source)
    assert (result.status, result.reason, result.blocks, result.errors) == ("failed", "killed", (), {})


def test_later_rounds_check_steps_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten blocks, another one in each round; what is wrong in the middle alone is caught there."""
    places, checked = list[int](), Rbm.check
    monkeypatch.setattr(Rbm, "check", lambda self, given, seen: places.append(calls[0]) or checked(self, given, seen))
    one, calls, step = bench(), [0], Rbm.step

    def counted(self: Rbm, a: Any, row: Any) -> None:
        calls[0] += 1
        step(self, a, row)

    monkeypatch.setattr(Rbm, "step", counted)
    longer, shares = replace(ORDER.timing, measure_seconds=10 * ORDER.timing.block_seconds), list[float]()
    for number in range(1, 13):
        calls[0] = 0
        facts = measured(one, number=number, timing=longer)
        assert facts["status"] == "measured"
        assert facts["errors"]
        shares.append(places[-1] / calls[0])
    assert len(places) == 12
    assert shares[0] < 0.1
    assert shares[1] == 1
    assert len({round(10 * share) for share in shares[2:]}) > 2


def test_errors_show_against_the_change() -> None:
    """A result that is no number is wrong and errors show against the change and not the weights."""
    with pytest.raises(WrongResult, match="a is off by nan"):
        measuring.judge({"b": (np.ones(2), np.ones(2)), "a": (np.array([np.nan, 1.0]), np.ones(2))}, 1e-4, {})
    before, after = np.array([100.0], np.float32), np.array([100.4], np.float32)
    assert largest_error(moved(before, after, np.array([0.2]))) == pytest.approx(1.0, rel=1e-3)
    # A change that is nothing beside its parameter is rounded as that is.
    assert largest_error(moved(before, np.array([100.00001], np.float32), np.array([1e-5]))) < 1e-4


def test_a_library_that_rounds_more_has_its_limit() -> None:
    """An array that a library rounds more has its own limit and no other has it."""
    pairs = {name: (np.array([1.002]), np.ones(1)) for name in "ab"}
    with pytest.raises(WrongResult, match=r"b is off by 0\.002 of its largest value, 1e-04 allowed"):
        measuring.judge(pairs, 1e-4, {"a": 6e-3})
    assert measuring.judge(pairs, 1e-4, {"a": 6e-3, "b": 6e-3}).keys() == pairs.keys()
    with pytest.raises(WrongResult, match="a is off by"):
        measuring.judge(pairs, 1e-4, {"a": 1e-3, "b": 6e-3})


def test_what_exceeds_memory_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the host, in fp64 twice as much, or of a GPU."""
    one, takes = bench(), make_workload(ORDER.cases[0].case).memory_bytes()
    for times, status in ((2.5, "measured"), (1.5, "not-run")):  # its arrays, and as much again for the check
        monkeypatch.setattr(measuring, "memory_free", lambda times=times: times * takes)
        assert (facts := measured(one))["status"] == status
    assert is_without_times(facts, "not-run", r"needs 0\.0 GB of memory, has 0\.0$")
    monkeypatch.setattr(measuring, "memory_free", lambda: 1e12)
    for times, status in ((1.4, "not-run"), (1.6, "measured")):
        monkeypatch.setattr(one.backend, "memory_factor", 1.5)
        monkeypatch.setattr(one.backend, "bytes_free", lambda times=times: times * takes)
        assert measured(one)["status"] == status
    # Of both together, if they have one memory.
    monkeypatch.setattr(one.backend, "unified", True)
    for times, status in ((3.4, "not-run"), (3.6, "measured")):
        monkeypatch.setattr(measuring, "memory_free", lambda times=times: times * takes)
        assert measured(one)["status"] == status
    monkeypatch.setattr("respeed.measure.case.CHECK_FACTOR", 1e9)
    found = [measuring.measure_case(one, one.cases[0], bench(backend(one.profile.precision))) for one in (ORDER, FP64)]
    single, double = (float(facts["reason"].split()[1]) for facts in found)
    assert double == pytest.approx(2 * single)


def test_an_uncaptured_or_senseless_case_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Steps that could not be captured and a case that makes no sense on a row say why."""
    made, told = backend(), iter([None, "RuntimeError: a copy waited"])
    monkeypatch.setattr(made, "why_plain", lambda: next(told), raising=False)
    assert measured(bench(made))["graphs"] == "no: RuntimeError: a copy waited"
    copies = Case("copies", "copies", {"length": 65536, "direction": "to", "memory": "pinned"})
    why = "nothing to copy: this row's arrays lie in the host's memory$"
    assert is_without_times(measured(case=copies), "not-run", why)


def test_a_first_step_loads_nothing_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a first step loads is loaded before by a tiny case that is done as large ones are."""
    made, built = backend(), list[tuple[str, bool]]()
    one, build = bench(made), made.build
    monkeypatch.setattr(
        made, "build", lambda workload, seed: built.append((str(workload), kernels.FEW > 0)) or build(workload, seed)
    )
    asked = ORDER.cases[-1]
    for number in (1, 2):
        assert measuring.measure_case(ORDER, replace(asked, number=number), one)["status"] == "measured"
    (tiny, whole) = (str(make_workload(case)) for case in (asked.rehearsals[0], asked.case))
    assert built == [(tiny, True), (tiny, False), (whole, True), (whole, True)]
    # Of the same workload, and with the same texts if there is one.
    built.clear()
    monkeypatch.setattr(made, "build", lambda workload, seed: built.append((workload.direction, seed)) or Mock())
    copies = {one: Case(one, "copies", {"length": 9, "direction": one, "memory": "pinned"}) for one in ("to", "from")}
    for case, given, direction in (("from", ["to", "from"], "from"), ("from", ["to"], "to")):
        rehearsals = (ORDER.cases[0].case, *(copies[one] for one in given))
        large = replace(copies[case], parameters=copies[case].parameters | {"length": 99})
        measuring._rehearse(Job(large, 1, "", rehearsals), measuring.Bench(made, one.probe))
        assert built.pop() == (direction, 0)


def test_too_many_threads_leave_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that ran in every block: those of the check may still spin in the first. A device's row may have more."""
    one = bench()
    for profile, ran, reason in (
        ("openblas-1", [2], "ran on 2 threads, 1 asked"), ("openblas-1", [2, 1, 2], None), ("openblas-1", [None], None),
        ("gpu", [2], None),
    ):  # fmt: skip
        each = itertools.cycle(ran)
        monkeypatch.setattr(timing, "difference", lambda *_, each=each: QUIET | {"threads_ran": next(each)})
        longer = replace(ORDER.timing, measure_seconds=0.2)  # several blocks
        assert measured(one, profile=load_profile(profile), timing=longer)["reason"] == reason


def test_a_foreign_program_is_warm_after_one_run() -> None:
    """A program by others is warm after its first run and says what was run."""
    case = Case("one", "program", {"flops": 7.0, "program": {"paper": "raina2009", "command": ["sleep", "0.05"]}})
    made = make_backend("program", device="cpu", precision="fp32", threads=1, seed=1)
    facts = measured(bench(made), case, profile=load_profile("program-1"))
    assert (facts["warmup"].settled, facts["warmup"].steps) == (True, 0)
    assert facts["warmup"].step_seconds > 0.05
    assert (facts["flops"], facts["parts"], facts["executables"].keys()) == (7.0, {}, {"sleep"})
    assert {(block.steps, block.seconds > 0.05) for block in facts["blocks"]} == {(1, True)}
    # One that prints the time of a part is run no longer than the whole is.
    case.parameters["program"] |= {"command": ["sh", "-c", "sleep 0.05; echo 0.001"], "time_pattern": "(.*)"}
    facts = measured(bench(made), case, profile=load_profile("program-1"))
    assert [block.sample_seconds for block in facts["blocks"]] == [(pytest.approx(0.001),)] * len(facts["blocks"])
    assert 1 <= len(facts["blocks"]) <= 2


def test_energy_needs_everything_to_be_metered() -> None:
    """Not by replicas, of which each has a device, nor of a program that prints the time of a part."""
    one = bench(meter=Meter((EnergyCounter("GPU", float),)))
    whole, part = (Mock(counts_whole=is_whole) for is_whole in (True, False))
    for profile, arrays, is_metered in (
        ("gpu", {}, True), ("gpu", {"helpers": (1, 2)}, False), ("torch-all", {"helpers": (1, 2)}, True),
        ("program-1", {"runner": whole}, True), ("program-1", {"runner": part}, False),
    ):  # fmt: skip
        program = Mock(arrays=SimpleNamespace(**{"runner": None, "helpers": ()} | arrays), parts=(1, 2))
        timer = measuring._timer(replace(ORDER, profile=load_profile(profile)), program, one, arrays.get("runner"))
        assert (timer.meter == one.meter, timer.parts, timer.is_shared) == (is_metered, (1, 2), False)
        assert timer.helpers == arrays.get("helpers", ())
        if runner := arrays.get("runner"):
            assert (timer.own_seconds, timer.happened) == (runner.own_seconds, runner.happened)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_long_step_is_timed_and_checked(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    each = {"timing": replace(ORDER.timing, long_seconds=1e-7), "number": number}
    facts = measured(**each)
    assert facts["status"] == "measured", facts["reason"]
    assert facts["warmup"].steps == 0
    assert [(block.sample_steps, len(block.sample_seconds)) for block in facts["blocks"]] == [(1, 1)]
    # A device's clock is cold then.
    made = backend()
    monkeypatch.setattr(made, "synchronous", False)
    assert measured(bench(made), **each)["warmup"].steps > 0
    monkeypatch.setattr("respeed.measure.case.TOLERANCE", {"fp32": 1e-12})
    assert is_without_times(measured(**each), "wrong", "wrong result: ")


@pytest.mark.parametrize("name", ["numpy", "torch"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_step_is_probed_between_works(name: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the products of a step, and not while threads take patches."""
    monkeypatch.setattr(timing, "MARK_SECONDS", 0.0)
    made, working, marks = make_backend(name, device="cpu", precision="fp32", threads=threads, seed=1), [0], [0]
    each = type(made).each

    def counted(self: Backend, items: Any, work: Any) -> None:
        working[0] += threads > 1
        each(self, items, work)
        working[0] -= threads > 1

    monkeypatch.setattr(type(made), "each", counted)
    probe = measuring.Bench(made, timing.Probe(lambda: marks.append(working[0]), made.sync, 1))
    patches = next(case for case in PATCHES.smoke_cases if case.workload == "patches")
    for case, least in ((None, 3), (patches, 0 if threads > 1 else 3)):
        facts = measured(probe, case, threads=threads, timing=replace(ORDER.timing, long_seconds=1e-9))
        assert facts["status"] == "measured", facts["reason"]
        (block,) = facts["blocks"]
        assert len(block.inside) >= least
        assert block.seconds > 0
    assert not any(marks[1:])


def test_an_fp64_case_is_checked_more_closely() -> None:
    """A case in fp64 is checked to 1e-10 and says what it moves and takes."""
    asked = FP64.cases[0]
    facts, workload = measuring.measure_case(FP64, asked, bench(backend("fp64"))), make_workload(asked.case)
    assert facts["status"] == "measured"
    assert max(facts["errors"].values()) < facts["tolerance"] == measuring.TOLERANCE["fp64"] == 1e-10
    assert facts["traffic_bytes"] == 2 * workload.traffic_bytes()
    assert facts["memory_bytes"] == 2 * workload.memory_bytes()
    # A program in fp32 is wrong as fp64.
    single = measuring.measure_case(FP64, asked, bench(backend("fp32")))
    assert is_without_times(single, "wrong", r"wrong result: [\w, ]+ is off by .* of its largest value, 1e-10 allowed$")


def test_a_rounds_rows_share_data_no_others_have() -> None:
    """All rows compute on the same data in a round of a case and every round and case on other."""
    keys = [job.case.key for job in ORDER.cases]
    assert keys == [job.case.key for job in order_of("torch-1").cases]
    seeds = {
        measuring.derive_seed(seed, key, number, "data") for seed in (1, 2) for key in keys for number in range(1, 13)
    }
    assert len(seeds) == 2 * len(keys) * 12


# All cases of a process.


def events_of(order: Order) -> list[dict[str, Any]]:
    """What the process tells of an order, in its words for people, or its facts."""
    events: list[dict[str, Any]] = []
    measuring.measure_cases(order, lambda event, **facts: events.append({"event": event, **facts}))
    return events


def test_a_devices_process_tells_its_drivers_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process on a device tells what its driver knows of it."""
    made = backend()
    told = {**made.describe(), "pci": "00:41"}
    monkeypatch.setattr(made, "describe", lambda: told)
    monkeypatch.setattr(measuring, "make_backend", lambda *_, **__: made)
    monkeypatch.setattr(measuring, "device_facts", lambda pci: [{"name": pci}])
    monkeypatch.setattr(measuring, "energy_counters", lambda device, pci: ([], f"none of {device} at {pci}"))
    monkeypatch.setattr(measuring, "clock_reader", lambda device, pci: lambda: {"watts": 1.0})
    ready, *_, last = events_of(replace(ORDER, cases=ORDER.cases[:1]))
    assert (ready["event"], ready["backend"], ready["accelerator"]) == ("ready", told, {"name": "00:41"})
    assert ready["energy"] == {"reason": "none of cpu at 00:41"}
    assert {*map(str, (reading for block in last["facts"]["blocks"] for reading in block.device))} == {"{'watts': 1.0}"}
    monkeypatch.setattr(measuring, "prove_threads", lambda probe: {"threads_ran": 3, "cpus_taken": 3.0})
    assert events_of(ORDER) == [{"event": "not-run", "reason": "3 threads ran, 1 asked"}]


def test_a_device_in_trouble_is_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A device in trouble while the backend is set up is a reason and no crash."""
    for error, reason in (
        (NotMeasurable("no such device"), "no such device"),
        (RuntimeError("CUDA error: out of memory\nmore"), "RuntimeError: CUDA error: out of memory more"),
        (RuntimeError(), "RuntimeError"),
    ):
        monkeypatch.setattr(measuring, "make_backend", Mock(side_effect=error))
        assert events_of(ORDER) == [{"event": "not-run", "reason": reason}]
    monkeypatch.setattr(measuring, "make_backend", Mock(side_effect=OSError(errno.ENOSPC, "a full disk")))
    with pytest.raises(OSError, match="a full disk"):  # no fact of a case
        events_of(ORDER)


@pytest.mark.parametrize("is_lost", [True, False])
def test_a_lost_device_ends_and_want_continues(is_lost: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error after which every call fails: the case has it as its reason."""
    error, failed, original = RuntimeError("an illegal memory access"), list[bool](), Rbm.arrays

    def arrays(self: Rbm, random: Any) -> Any:
        failed.extend([True] * (self.visible == 64))
        if self.visible == 64:
            raise error
        return original(self, random)

    def sync(self: Backend) -> None:
        if failed and is_lost:
            raise error

    monkeypatch.setattr(Rbm, "arrays", arrays)
    monkeypatch.setattr(Backend, "sync", sync)
    events = events_of(ORDER)
    told = [event["facts"]["reason"] for event in events if event["event"] == "case"]
    assert told == [None, "RuntimeError: an illegal memory access", *([] if is_lost else [None] * 2)]
    assert events[-1]["event"] == ("lost" if is_lost else "case")
