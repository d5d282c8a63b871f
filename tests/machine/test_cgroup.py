"""Limits of control groups, of both versions, in a group and above it."""

from pathlib import Path

import pytest

from respeed.machine.cgroup import cpu_quota, memory_kills, memory_left, quota_throttles


@pytest.fixture
def groups(tmp_path: Path):
    """Writes files of groups, and which group this process is in."""

    def write(membership: str, files: dict[str, str]) -> tuple[Path, Path]:
        for name, text in files.items():
            path = tmp_path / "cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "membership").write_text(membership)
        return tmp_path / "cgroup", tmp_path / "membership"

    return write


@pytest.mark.parametrize(
    ("membership", "files", "quota"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000\n"}, None),
        ("0::/\n", {"cpu.max": "nonsense\n"}, None),
        ("0::/\n", {}, None),
        ("0::/user/job\n", {"user/job/cpu.max": "max 100000\n", "user/cpu.max": "400000 100000\n"}, 4.0),
        ("0::/user/job\n", {"user/job/cpu.max": "50000 100000\n", "user/cpu.max": "400000 100000\n"}, 0.5),
        ("4:cpu,cpuacct:/job\n0::/\n",
         {"cpu/job/cpu.cfs_quota_us": "150000\n", "cpu/job/cpu.cfs_period_us": "100000\n"}, 1.5),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        # A container without a namespace of its own is told a group that it does not see: its own is the root.
        ("1:cpu:/docker/1\n", {"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2.0),
    ],
)  # fmt: skip
def test_the_least_quota_of_a_group_and_those_above_it_holds(
    groups, membership: str, files: dict[str, str], quota: float | None
) -> None:
    assert cpu_quota(*groups(membership, files)) == quota


NEW = {"memory.max": "1000\n", "memory.current": "700\n", "memory.stat": "anon 300\ninactive_file 200\n"}
OLD = {"memory.limit_in_bytes": "1000\n", "memory.usage_in_bytes": "900\n", "memory.stat": "total_inactive_file 50\n"}


@pytest.mark.parametrize(
    ("membership", "folder", "files", "left"),
    [
        ("0::/job\n", "job", NEW, 500),
        ("0::/job\n", "job", NEW | {"memory.max": "max\n"}, None),
        ("0::/job\n", "job", NEW | {"memory.current": "2000\n"}, 0),
        ("4:memory:/job\n", "memory/job", OLD, 150),
        ("4:memory:/job\n", "memory/job", OLD | {"memory.limit_in_bytes": "9223372036854771712\n"}, None),
    ],
)
def test_memory_that_is_left_counts_what_the_kernel_keeps_of_files(
    groups, membership: str, folder: str, files: dict[str, str], left: int | None
) -> None:
    assert memory_left(*groups(membership, {f"{folder}/{name}": text for name, text in files.items()})) == left


def test_how_often_a_quota_was_used_up_is_counted_and_where_nothing_is_told_there_is_no_limit(
    groups, tmp_path: Path
) -> None:
    nowhere = tmp_path / "cgroup", tmp_path / "membership"
    assert [ask(*nowhere) for ask in (cpu_quota, memory_left, quota_throttles, memory_kills)] == [None] * 4
    assert quota_throttles(*groups("0::/job\n", {"job/cpu.stat": "nr_throttled 3\n", "cpu.stat": "x 1\n"})) == 3


@pytest.mark.parametrize(
    ("membership", "files", "kills"),
    [
        ("0::/user/job\n", {"user/job/memory.events": "oom 1\noom_kill 2\n", "user/memory.events": "oom_kill 9\n"}, 2),
        ("4:memory:/job\n0::/\n", {"memory/job/memory.oom_control": "under_oom 0\noom_kill 3\n"}, 3),
        # What was ended in a group above may be anybody's.
        ("0::/user/job\n", {"user/job/cpu.max": "max 100000\n", "user/memory.events": "oom_kill 9\n"}, None),
        # An old kernel does not count.
        ("4:memory:/job\n", {"memory/job/memory.oom_control": "under_oom 0\n"}, None),
        ("4:memory:/docker/1\n", {"memory/memory.oom_control": "oom_kill 5\n"}, 5),
    ],
)
def test_of_processes_that_were_ended_only_those_of_the_own_group_count(
    groups, membership: str, files: dict[str, str], kills: int | None
) -> None:
    assert memory_kills(*groups(membership, files)) == kills
