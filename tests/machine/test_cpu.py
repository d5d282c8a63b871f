"""Which CPUs are a core, a socket, a kind: from the files that Linux has of them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.machine import cpu
from respeed.machine.cpu import Core, cores_as_facts, cores_of_facts, parse_list, show_list


def write(sys: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = sys / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def cpu_files(number: int, siblings: str, socket: int = 0, **others: int) -> dict[str, str]:
    at = f"system/cpu/cpu{number}"
    files = {f"{at}/topology/thread_siblings_list": siblings, f"{at}/topology/physical_package_id": str(socket)}
    return files | {f"{at}/{name.replace('__', '/')}": str(value) for name, value in others.items()}


Allow = Callable[..., None]


@pytest.fixture
def allow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Allow:
    """Lets this process run on those CPUs, of a machine whose files lie in `tmp_path`."""
    monkeypatch.setattr(cpu, "SYS", tmp_path)
    cpu._cores.cache_clear()

    def allow(*cpus: int) -> None:
        monkeypatch.setattr(cpu.os, "sched_getaffinity", lambda _: set(cpus), raising=False)

    return allow


def test_cores_have_their_logical_cpus_and_their_socket_and_siblings_of_one_count_once(
    tmp_path: Path, allow: Allow, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(8):
        write(tmp_path, cpu_files(n, f"{n % 4},{n % 4 + 4}", socket=n % 4 // 2))
    assert cpu.socket_count() == 2
    allow(*range(8))
    assert cpu.usable_topology() == tuple(Core((n, n + 4), n // 2) for n in range(4))
    monkeypatch.setattr(cpu, "cpu_quota", lambda: None)
    assert cpu.usable_cores() == (0, 1, 2, 3)
    allow(1, 3, 7)
    assert cpu.usable_topology() == (Core((1,), 0), Core((3, 7), 1))
    assert cpu.usable_cores() == (1, 3)
    monkeypatch.setattr(cpu, "cpu_quota", lambda: 1.5)
    assert cpu.usable_cores() == (1,)


BIG, SMALL = "performance", "efficiency"
ONE_KIND = {"cpu_core/cpus": "0-3"}


@pytest.mark.parametrize(
    ("file", "values", "named", "kinds"),
    [
        ("other", (0, 0, 0, 0), {"cpu_core/cpus": "0-1", "cpu_atom/cpus": "2-3"}, [BIG, BIG, SMALL, SMALL]),
        ("cpu_capacity", (530, 530, 1024, 1024), {}, [SMALL, SMALL, BIG, BIG]),
        ("cpufreq__cpuinfo_max_freq", (5100000, 5000000, 3300000, 3300000), {}, [BIG, BIG, SMALL, SMALL]),
        ("cpufreq__cpuinfo_max_freq", (5800000, 5500000, 5500000, 5300000), ONE_KIND, [None] * 4),
        ("cpu_capacity", (1024, 1024, 1024, 1024), {}, [None] * 4),
    ],
)
def test_cores_that_can_do_much_less_are_efficiency_cores(
    tmp_path: Path, allow: Allow, file: str, values: tuple[int, ...], named: dict[str, str], kinds: list[str | None]
) -> None:
    for n, value in enumerate(values):
        write(tmp_path, cpu_files(n, str(n), **{file: value}))
    write(tmp_path, named)
    allow(*range(4))
    assert [core.kind for core in cpu.usable_topology() or ()] == kinds


def test_a_system_that_binds_nobody_to_cpus_tells_of_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(cpu.os, "sched_getaffinity", raising=False)
    assert cpu.usable_topology() is None


cpu_sets = st.sets(st.integers(0, 300), min_size=1, max_size=20)


@given(cpu_sets)
def test_a_list_of_cpus_is_read_as_it_is_shown(cpus: set[int]) -> None:
    assert parse_list(show_list(cpus)) == tuple(sorted(cpus))


@pytest.mark.parametrize("text", ["", "a", "3-1", "0-", "-1", "0,,1", "0-999999", "1.5"])
def test_anything_else_is_no_list_of_cpus(text: str) -> None:
    assert parse_list(text) is None


cores = st.builds(Core, cpu_sets.map(lambda cpus: tuple(sorted(cpus))), st.none() | st.integers(0, 3))


@given(st.lists(cores, max_size=8))
def test_facts_hold_every_core(made: list[Core]) -> None:
    assert sorted(map(repr, cores_of_facts(cores_as_facts(made)))) == sorted(map(repr, made))


def test_a_mac_tells_its_kinds_of_cores_and_vector_extensions_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"hw.perflevel0.physicalcpu": "8", "hw.perflevel1.physicalcpu": "4"}
    flags = "hw.optional.AdvSIMD: 1\nhw.optional.arm.FEAT_BF16: 1\nhw.optional.arm.FEAT_FP16: 1\nhw.optional.avx2_0: 0"
    monkeypatch.setattr(cpu.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(cpu, "output_of", lambda *command: counts.get(command[-1], flags))
    assert cpu.cpu_flags() == ["asimd", "asimdhp", "bf16"]
    assert cpu.kind_counts() == {"performance": 8, "efficiency": 4}
    counts["hw.perflevel1.physicalcpu"] = "0"
    assert cpu.kind_counts() == {}
