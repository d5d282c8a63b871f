"""How many threads a profile has on a machine, and on which CPUs."""

from dataclasses import replace
from typing import Any

import pytest

from respeed.errors import NotMeasurable
from respeed.inputs.profiles import Profile, load_profile
from respeed.machine.cpu import Core, cores_as_facts
from respeed.schedule.availability import place

ALL = load_profile("torch-all")
# Two sockets of two cores of two CPUs each, numbered as Linux does it: cores first, then their other CPUs.
SERVER = {"cores": cores_as_facts([Core((n, n + 4), n // 2) for n in range(4)]), "cpu_quota": None, "usable_cores": 4}
FAST, SMALL = "performance", "efficiency"
HYBRID = SERVER | {"cores": cores_as_facts([Core((0, 1), 0, FAST), Core((2, 3), 0, FAST), Core((4,), 0, SMALL)])}
MAC = {"cores": None, "core_kinds": {"performance": 8, "efficiency": 2}, "usable_cores": 10, "cpu_quota": None}


def of(**keys: Any) -> Profile:
    return replace(ALL, **keys)


@pytest.mark.parametrize(
    ("facts", "profile", "cpus"),
    [
        (SERVER, of(), (0, 1, 2, 3)),
        (SERVER, of(threads=2), (0, 1)),
        (SERVER, of(smt=True), tuple(range(8))),
        (SERVER, of(cpus="socket 1"), (2, 3)),
        (SERVER, of(cpus="socket 1", smt=True), (2, 3, 6, 7)),
        (SERVER, of(cpus="1, 5-6"), (1, 6)),
        (SERVER, of(cpus="1, 5-6", smt=True), (1, 5, 6)),
        (SERVER | {"cpu_quota": 2.5}, of(), (0, 1)),
        (SERVER | {"cpu_quota": 2.5}, of(smt=True), (0, 4)),
        (SERVER, of(threads=2, smt=True), (0, 4)),
        (SERVER, of(threads=3, smt=True), (0, 1, 4)),
        (HYBRID, of(threads=2, smt=True), (0, 1)),
        (HYBRID, of(), (0, 2, 4)),
        (HYBRID, of(cpus="performance cores"), (0, 2)),
        (HYBRID, of(cpus="performance cores", smt=True), (0, 1, 2, 3)),
        (HYBRID, of(cpus="efficiency cores"), (4,)),
    ],
)
def test_threads_run_on_a_core_each_unless_a_profile_says_otherwise(
    facts: dict[str, Any], profile: Profile, cpus: tuple[int, ...]
) -> None:
    assert place(profile, facts) == (len(cpus), cpus)


@pytest.mark.parametrize(
    ("facts", "profile", "reason"),
    [
        (SERVER, of(threads=5), "needs 5 cores, 4 usable"),
        (SERVER, of(threads=9, smt=True), "needs 9 logical CPUs, 8 usable"),
        (SERVER, of(threads=3, cpus="socket 1"), "needs 3 cores, 2 usable in socket 1"),
        (SERVER, of(threads=3, cpus="1, 5-6"), "needs 3 cores, 2 usable among CPUs 1, 5-6"),
        (SERVER, of(cpus="2-9"), "may not use CPU 8-9: those that may be used are 0-7"),
        (SERVER, of(cpus="socket 2"), "no socket 2: usable are those of 0-1"),
        (SERVER, of(cpus="performance cores"), "no performance cores: all cores of this CPU are alike"),
        (HYBRID, of(cpus="efficiency cores", smt=True), "no SMT: each core among efficiency cores is one CPU"),
        (MAC, of(cpus="0-3"), "this system binds no process to CPUs"),
        (MAC, of(smt=True), "this system binds no process to CPUs"),
        (MAC, of(cpus="performance cores"), "CPUs; threads: 8 is as many as it has performance cores"),
        (MAC, of(threads=11), "needs 11 cores, 10 usable"),
    ],
)
def test_a_machine_without_such_cpus_says_so(facts: dict[str, Any], profile: Profile, reason: str) -> None:
    with pytest.raises(NotMeasurable) as error:
        place(profile, facts)
    assert reason in str(error.value)


def test_a_system_that_binds_nobody_leaves_threads_where_they_are() -> None:
    assert place(of(), MAC) == (10, ())


def test_a_row_of_an_accelerator_is_bound_to_no_cpus() -> None:
    assert place(load_profile("gpu"), SERVER) == (1, ())
