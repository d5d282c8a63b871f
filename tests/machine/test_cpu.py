"""Which CPUs are a core, from the files that Linux has of them; lists of CPUs."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.machine import cpu
from respeed.machine.cpu import choice_as_text, parse_list, show_list


def test_siblings_are_one_core_of_which_the_first_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "SYS", tmp_path)
    for n in range(8):
        (tmp_path / f"cpu{n}/topology").mkdir(parents=True)
        (tmp_path / f"cpu{n}/topology/thread_siblings_list").write_text(f"{n % 4},{n % 4 + 4}\n")
    for allowed, quota, cores, usable in (
        (range(8), None, [[n, n + 4] for n in range(4)], (0, 1, 2, 3)),
        ((1, 3, 7), None, [[1], [3, 7]], (1, 3)),
        ((1, 3, 7), 1.5, [[1], [3, 7]], (1,)),
    ):
        monkeypatch.setattr(cpu, "allowed_cpus", lambda allowed=allowed: allowed)
        monkeypatch.setattr(cpu, "cpu_quota", lambda quota=quota: quota)
        assert (cpu.core_cpus(), cpu.usable_cores()) == (cores, usable)


def test_a_system_that_binds_nobody_to_cpus_tells_of_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert cpu.core_cpus() is None
    assert cpu.usable_cores()


cpu_sets = st.sets(st.integers(0, 300), min_size=1, max_size=20)


@given(cpu_sets)
def test_a_list_of_cpus_is_read_as_it_is_shown(cpus: set[int]) -> None:
    assert parse_list(show_list(cpus)) == tuple(sorted(cpus))


@pytest.mark.parametrize("text", ["", "a", "3-1", "0-", "-1", "0,,1", "0-999999", "1.5", "socket 1"])
def test_anything_else_is_no_list_of_cpus(text: str) -> None:
    assert parse_list(text) is None
    assert choice_as_text(text) is None


def test_a_profile_may_list_cpus_in_three_ways() -> None:
    assert (choice_as_text("8,0-3"), choice_as_text([1, 0]), choice_as_text(3)) == ("0-3, 8", "0-1", "3")
    assert choice_as_text([]) is choice_as_text([True]) is None


def test_a_mac_tells_its_vector_extensions_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = "hw.optional.AdvSIMD: 1\nhw.optional.arm.FEAT_BF16: 1\nhw.optional.arm.FEAT_FP16: 0"
    monkeypatch.setattr(cpu.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(cpu, "output_of", lambda *_: flags)
    assert cpu.cpu_flags() == ["asimd", "bf16"]
