"""Which rows a machine can run, how many threads each has there and on which CPUs, and whether it is the machine that
its name says."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from respeed.errors import NotMeasurable, UserError
from respeed.inputs.machines import Profile, load_profile, load_profiles, other_library
from respeed.records import write_description
from respeed.schedule import rows
from respeed.schedule.rows import Row, check_same_machine, climb, place, say_renamed, unmet
from tests.made import HARDWARE, description, make_lines, write_lines

# Four cores of two CPUs each, numbered as Linux does it: cores first, then their other CPUs.
SERVER = {"core_cpus": [[n, n + 4] for n in range(4)], "cpu_quota": None, "usable_cores": 4}
HYBRID = SERVER | {"core_cpus": [[0, 1], [2, 3], [4]]}
MAC = {"core_cpus": None, "usable_cores": 10, "cpu_quota": None}


def of(**keys: Any) -> Profile:
    return replace(load_profile("torch-all"), **keys)


@pytest.mark.parametrize(
    ("facts", "profile", "threads", "cpus"),
    [
        (SERVER, of(), 4, (0, 1, 2, 3)),
        (SERVER, of(threads=2), 2, (0, 1)),
        (SERVER, of(cpus="1, 5-6"), 2, (1, 6)),
        (SERVER | {"cpu_quota": 2.5}, of(), 2, (0, 1)),
        (HYBRID, of(), 3, (0, 2, 4)),
        (SERVER | {"core_cpus": [[6, 7], [2, 3], [0, 1]]}, of(threads=2), 2, (2, 6)),
        # Bound to none: an accelerator's, and where the system binds nobody.
        (SERVER, load_profile("gpu"), 1, ()),
        (MAC, of(), 10, ()),
    ],
)
def test_threads_run_on_a_core_each(
    facts: dict[str, Any], profile: Profile, threads: int, cpus: tuple[int, ...]
) -> None:
    """Threads run on a core each unless a profile says otherwise."""
    assert place(profile, facts) == (threads, cpus)


@pytest.mark.parametrize(
    ("facts", "profile", "reason"),
    [
        (SERVER, of(threads=5), "needs 5 cores, 4 usable"),
        (SERVER, of(threads=3, cpus="1, 5-6"), "needs 3 cores, 2 usable among CPUs 1, 5-6"),
        (SERVER, of(cpus="2-9"), "may not use CPU 8-9: those that may be used are 0-7"),
        (MAC, of(cpus="0-3"), "this system binds no process to CPUs"),
        (MAC, of(threads=11), "needs 11 cores, 10 usable"),
    ],
)
def test_a_machine_without_such_cpus_says_so(facts: dict[str, Any], profile: Profile, reason: str) -> None:
    with pytest.raises(NotMeasurable, match=f"^{reason}$"):
        place(profile, facts)


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({}, None),
        ({"requires": {"instructions": ["avx2"], "memory_gb": 8, "library": "openblas", "packages": ["numpy"]}}, None),
        ({"requires": {"instructions": ["avx2", "avx512f", "amx_tile"]}}, "the CPU has no avx512f and no amx_tile"),
        ({"requires": {"memory_gb": 64}}, "needs 64 GB of memory, has 16.0"),
        ({"requires": {"library": "mkl"}}, "needs MKL; SciPy computes with OpenBLAS here"),
        ({"requires": {"packages": ["numpy", "nowhere"]}}, "needs the Python package nowhere, which is not installed"),
        ({"precision": "bf16"}, "the CPU has no instructions for bf16"),
    ],
)  # fmt: skip
def test_what_is_missing_is_a_reason(keys: dict[str, Any], reason: str | None) -> None:
    facts = {"cpu_flags": ["avx2", "fma"], "memory_bytes": 16e9, "blas": "openblas"}
    assert unmet(of(**keys), facts) == reason
    assert unmet(of(precision="bf16"), facts | {"cpu_flags": ["amx_bf16"]}) is None


def test_every_machine_has_scipys_library() -> None:
    """Every machine has the rows of the library that its SciPy computes with."""
    every = {name: one for name, one in load_profiles().items() if one.is_cpu and one.backend == "numpy"}

    def rows(blas: str) -> set[str]:
        return {name for name, profile in every.items() if not other_library(profile, {"blas": blas})}

    assert rows("openblas") == {"openblas-1", "openblas-all", "openblas-1-fp64", "openblas-all-fp64"}
    assert rows("mkl") == {"mkl-1", "mkl-all"}
    assert rows("netlib") == set()


@pytest.mark.parametrize(
    ("cores", "counts"), [(1, [1]), (3, [1, 2, 3]), (16, [1, 2, 3, 4, 8, 16]), (24, [1, 2, 3, 4, 8, 16, 24])]
)
def test_a_ladder_goes_up_by_powers_of_two(cores: int, counts: list[int]) -> None:
    """A ladder has all counts up to four then powers of two and all cores."""
    steps = climb(Row(load_profile("openblas-all"), cores, tuple(range(cores))))
    assert [(row.threads, row.cpus, row.profile.name, row.profile.label) for row in steps] == [
        (count, tuple(range(count)), f"openblas-all-t{count}", f"OpenBLAS, {count} thread{'s' * (count > 1)}")
        for count in counts
    ]
    assert [one.threads for one in climb(Row(load_profile("openblas-all"), cores, ()))] == counts
    assert [row.profile.architecture == "single-cpu" for row in steps] == [count == 1 for count in counts]
    assert all(row.profile.ladder for row in steps)


# A run under a name that is another machine's is refused, in one line that gives a name to use.


def test_this_machine_under_another_name_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A folder was renamed, as docs/machines.md says, and config.yaml has not its name."""
    monkeypatch.setattr(rows, "describe_machine", lambda: HARDWARE | {"host": "7f3a" * 4})
    assert say_renamed("box", False) == []
    write_lines(*make_lines(hardware=HARDWARE | {"host": "0" * 16}), machine="other")
    write_lines(*make_lines(hardware=HARDWARE | {"host": "7f3a" * 4}), machine="new")
    shutil.copytree("results/records/new", "results/imported/guest")
    line = "results/records/new was measured on this machine; to go on with it, write in config.yaml: machine: new"
    assert say_renamed("box", False) == [line]
    assert say_renamed("new", False) == []


def test_another_machine_is_refused_with_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine is refused with what differs and what to do."""
    here = HARDWARE | {"host": "7f3a" * 4}
    monkeypatch.setattr(rows, "describe_machine", lambda: here)
    check_same_machine("box", False)  # nothing is known of it yet
    write_lines(*make_lines(hardware=here | {"memory_bytes": 2**34 + 2**24}))
    check_same_machine("box", False)
    here |= {"memory_bytes": 2**35}
    for _ in range(2):
        with pytest.raises(UserError) as refused:
            check_same_machine("box", False)
        assert str(refused.value) == (
            "results/records/box was measured on another machine (memory, 16.0 GiB, not 32.0 GiB); give this one a "
            "name: --config machine=NAME"
        )
        write_description("box", False, description(memory_bytes=2**34, host="7f3a" * 4))
    here |= {"memory_bytes": 2**34, "host": "5208" * 4}
    with pytest.raises(UserError) as refused:
        check_same_machine("box", False)
    assert str(refused.value) == (
        f"results/records/box was measured on another machine (host, {'7f3a' * 4}, not {here['host']}); give this one "
        "a name: --config machine=NAME; or, as only the system's ID differs, which a new image changes, write "
        f'"host": "{here["host"]}" in results/records/box/machine.json, if it is the same machine'
    )
    write_description("box", False, description(memory_bytes=2**34, host=here["host"]))
    check_same_machine("box", False)


# A device is tried once.


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Counts the processes that try a device, which all answer the same; and starts anew, as another command would."""
    answers: dict[str, Any] = {}
    commands: list[Any] = []

    def run(command: list[str], **options: Any) -> Any:
        commands.append(command)
        if answers.get("hangs"):
            raise subprocess.TimeoutExpired(command, options["timeout"])
        told = json.dumps(answers, default=str)
        return SimpleNamespace(returncode=answers.get("code", 0), stdout=told, stderr="one\ntwo\n")

    def unusable(device: str = "cuda", backend: str = "torch", **told: Any) -> tuple[str | None, int]:
        answers.clear()
        answers.update(told)
        rows.probe_device.cache_clear()
        (reason,) = {rows.unusable(of(device=device, backend=backend)) for _ in range(2)}
        return reason, len(commands)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(rows, "accelerator_driver", lambda: answers.get("driver"))
    monkeypatch.setattr(rows, "accelerator_names", lambda: ("A", "A"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(rows, "distributions", lambda: answers.get("packages", []))
    yield unusable
    rows.probe_device.cache_clear()


def test_a_failing_device_waits_for_a_change(tried: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that cannot run is not tried again until driver torch or device change."""
    no = {"reasons": {"fp32": "too old"}, "lasting": True}
    torch, other = (SimpleNamespace(name=name, version="2.0") for name in ("torch", "other"))
    assert tried(**no) == ("too old", 1)
    assert tried(**no) == ("too old", 1)
    assert tried("cuda:1", **no) == ("too old", 2)
    assert tried(driver="580", reasons={"fp32": None}, lasting=True) == (None, 3)
    assert tried(packages=[torch], **no) == ("too old", 4)
    assert tried(packages=[torch, other], **no) == ("too old", 4)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert tried(**no) == ("too old; the driver has A, A, CUDA_VISIBLE_DEVICES=", 5)
    assert tried("xpu", **no) == ("too old", 6)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert tried("cpu") == (None, 6)
    assert tried(backend="program", **no) == ("too old", 7)
    rows.forget_trials()
    assert tried(**no) == ("too old", 8)


@pytest.mark.parametrize("damaged", ["", "{", "[]", "null", '{"reasons": 5}', "\0"])
def test_a_damaged_kept_trial_is_made_anew(damaged: str, tried: Any, tmp_path: Path) -> None:
    no = {"reasons": {"fp32": "too old"}, "lasting": True}
    assert tried(**no) == ("too old", 1)
    (kept,) = tmp_path.rglob("devices/*.json")
    kept.write_text(damaged)
    assert tried(**no) == ("too old", 2)
    assert tried(**no) == ("too old", 2)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"reasons": {"fp32": "busy"}, "lasting": False}, "busy"),
        ({"code": -11}, "a process that used it for a moment ended: two"),
        ({"hangs": True}, "a small product on it was not done in 120 s"),
    ],
)
def test_a_passing_failure_is_asked_each_command(tried: Any, told: dict[str, Any], reason: str) -> None:
    assert [tried(**told), tried(**told)] == [(reason, 1), (reason, 2)]
