"""Which CPUs are a core, from the files that Linux has of them; lists of CPUs."""

from pathlib import Path

import pytest

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


def test_a_profile_may_list_cpus_in_three_ways_and_anything_else_is_no_list() -> None:
    assert (show_list({8, 0, 2, 1}), parse_list("0-2, 8")) == ("0-2, 8", (0, 1, 2, 8))
    assert (choice_as_text("8,0-3"), choice_as_text([1, 0]), choice_as_text(3)) == ("0-3, 8", "0-1", "3")
    for odd in ("", "a", "3-1", "0-", "-1", "0,,1", "0-999999", "1.5", [], [True]):
        assert choice_as_text(odd) is None


def test_a_mac_tells_its_vector_extensions_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = "hw.optional.AdvSIMD: 1\nhw.optional.arm.FEAT_BF16: 1\nhw.optional.arm.FEAT_FP16: 0"
    monkeypatch.setattr(cpu.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(cpu, "output_of", lambda *_: flags)
    assert cpu.cpu_flags() == ["asimd", "bf16"]
