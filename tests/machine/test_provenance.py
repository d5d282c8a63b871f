"""What machine is this?"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from respeed.machine import accelerators, cpu, description
from respeed.machine.software import source_commit
from respeed.paths import NAME, SCHEMAS


@pytest.mark.parametrize(
    ("model", "cores", "devices", "slug"),
    [
        ("Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz", 16, (), "intel-xeon-gold-6354-16c"),
        ("Intel(R) Xeon(R) Processor", 2, ("NVIDIA H200",), "intel-xeon-2c-h200"),
        ("AMD EPYC 7B13 64-Core Processor", 64, ("NVIDIA A100-SXM4-80GB",) * 2, "amd-epyc-7b13-64c-2x-a100-sxm4-80gb"),
        ("AMD Ryzen 7 7840U w/ Radeon 780M Graphics", 8, (), "amd-ryzen-7-7840u-w-radeon-780m-graphics-8c"),
        ("Apple M2 Pro", 10, (), "apple-m2-pro-10c"),
        ("Neoverse-N1", 4, (), "neoverse-n1-4c"),
        ("", 1, (), "unknown-1c"),
    ],
)
def test_a_machine_has_a_readable_name(
    monkeypatch: pytest.MonkeyPatch, model: str, cores: int, devices: tuple[str, ...], slug: str
) -> None:
    monkeypatch.setattr(description, "cpu_model", lambda: model)
    monkeypatch.setattr(description, "usable_cores", lambda: tuple(range(cores)))
    monkeypatch.setattr(description, "accelerator_names", lambda: devices)
    assert description.machine_slug() == slug
    assert NAME.fullmatch(description.machine_slug())


def test_siblings_of_one_core_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(8):
        topology = tmp_path / f"system/cpu/cpu{number}/topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(f"{number % 4},{number % 4 + 4}\n")
    monkeypatch.setattr(cpu.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(cpu, "cpu_quota", lambda: None)
    assert cpu.usable_cores(tmp_path) == (0, 1, 2, 3)
    monkeypatch.setattr(cpu.os, "sched_getaffinity", lambda _: {1, 5, 6}, raising=False)
    assert cpu.usable_cores(tmp_path) == (1, 6)
    monkeypatch.setattr(cpu, "cpu_quota", lambda: 1.5)
    assert cpu.usable_cores(tmp_path) == (1,)


def test_a_mac_tells_its_vector_extensions_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "hw.optional.AdvSIMD: 1\nhw.optional.arm.FEAT_BF16: 1\nhw.optional.arm.FEAT_FP16: 1\nhw.optional.avx2_0: 0\n"
    monkeypatch.setattr(cpu.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(cpu, "output_of", lambda *_: told)
    assert cpu.cpu_flags() == ["asimd", "asimdhp", "bf16"]


def test_a_profile_may_require_any_instruction_that_a_machine_tells_of() -> None:
    schema = json.loads((SCHEMAS / "hardware.schema.json").read_text())
    instructions = schema["properties"]["requires"]["properties"]["instructions"]
    assert set(instructions["items"]["enum"]) == cpu.TELLING


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_devices_that_are_hidden_are_not_there(monkeypatch: pytest.MonkeyPatch, hidden: str) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    accelerators.accelerator_names.cache_clear()
    assert accelerators.accelerator_names() == ()
    accelerators.accelerator_names.cache_clear()


def test_outside_a_checkout_the_commit_is_unknown(tmp_path: Path) -> None:
    assert source_commit(tmp_path) == "unknown"


def test_to_ask_for_the_commit_leaves_the_checkout_as_it_is(tmp_path: Path) -> None:
    """Git would write its index anew: whoever is killed then leaves its lock, and nobody can commit any more."""

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    file = tmp_path / "file"
    file.write_text("text")
    git("init")
    git("add", "file")
    git("commit", "-m", "first")
    os.utime(file, (1, 1))  # of another time, and the same
    index = tmp_path / ".git/index"
    before = index.read_bytes()
    assert len(source_commit(tmp_path)) == 12
    assert index.read_bytes() == before
