"""What a control group and those above it leave to a process."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from respeed.machine import process
from respeed.machine.process import cpu_quota, memory_free, memory_left, quota_throttles

Write = Callable[[str, dict[str, str]], None]


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes files of groups, and which group this process is in."""
    monkeypatch.setattr(process, "GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(process, "MEMBERSHIP", tmp_path / "membership")

    def write(membership: str, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = tmp_path / "cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "membership").write_text(membership)

    return write


JOB = {
    "job/memory.max": "1000\n", "job/memory.current": "700\n", "job/memory.stat": "anon 300\ninactive_file 200\n",
}  # fmt: skip


@pytest.mark.parametrize(
    ("ask", "membership", "files", "told"),
    [
        # The least of the group and those above it.
        (cpu_quota, "0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        (cpu_quota, "0::/\n", {"cpu.max": "max 100000\n"}, None),
        (cpu_quota, "0::/user/job\n", {"user/job/cpu.max": "500 1000\n", "user/cpu.max": "4000 1000\n"}, 0.5),
        # A container without a namespace of its own is told a group that it does not see: its own is the root.
        (cpu_quota, "1:cpu:/x\n0::/docker/1\n", {"cpu.max": "200000 100000\n"}, 2.0),
        (quota_throttles, "0::/job\n", {"job/cpu.stat": "nr_throttled 3\n", "cpu.stat": "x 1\n"}, 3),
        # What the kernel keeps of files is left.
        (memory_left, "0::/job\n", JOB, 500),
        (memory_left, "0::/job\n", JOB | {"job/memory.max": "max\n"}, None),
        (memory_left, "0::/job\n", JOB | {"job/memory.current": "2000\n"}, 0),
    ],
)
def test_the_limits_of_a_group_and_those_above_it_are_told(
    groups: Write, ask: Callable[[], float | None], membership: str, files: dict[str, str], told: float | None
) -> None:
    groups(membership, files)
    assert ask() == told


def test_what_the_system_or_the_group_leaves_is_free_whichever_is_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process.psutil, "virtual_memory", lambda: SimpleNamespace(available=600))
    monkeypatch.setattr(process.psutil.Process, "memory_info", lambda self: SimpleNamespace(rss=7))
    for left, free in ((None, 607), (500, 507), (700, 607)):
        monkeypatch.setattr(process, "memory_left", lambda left=left: left)
        assert memory_free() == free


@pytest.mark.usefixtures("groups")
def test_where_nothing_is_told_there_is_no_limit() -> None:
    assert cpu_quota() is memory_left() is quota_throttles() is None
