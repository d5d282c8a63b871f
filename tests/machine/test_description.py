"""What machine is this?"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from respeed.machine import description
from respeed.machine.software import source_commit
from respeed.paths import NAME


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
def test_a_machine_has_a_readable_name_that_ends_in_digits_of_its_hardware(
    monkeypatch: pytest.MonkeyPatch, model: str, cores: int, devices: tuple[str, ...], slug: str
) -> None:
    monkeypatch.setattr(description, "cpu_model", lambda: model)
    monkeypatch.setattr(description, "usable_cores", lambda: tuple(range(cores)))
    monkeypatch.setattr(description, "accelerator_names", lambda: devices)
    assert re.fullmatch(f"{slug}-[0-9a-f]{{4}}", description.machine_slug())
    monkeypatch.setattr(description, "host_mark", lambda: "another host")
    assert description.machine_slug().startswith(f"{slug}-")
    assert NAME.fullmatch(description.machine_slug())


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


def test_the_same_host_has_the_same_mark_another_another_and_the_number_itself_is_not_in_it(tmp_path: Path) -> None:
    file = tmp_path / "machine-id"

    def mark(number: str) -> str | None:
        file.write_text(number)
        return description.host_mark((file,))

    number = "0123456789abcdef0123456789abcde5"
    first = mark(number) or ""
    assert first == mark(f"{number}\n") != mark("1" * 32)
    assert len(first) == 16
    assert first[:8] not in number
    assert mark("") is description.host_mark((tmp_path / "missing",)) is None
