"""What machine is this?"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from respeed import machine as description
from respeed.machine.software import source_commit
from respeed.paths import NAME


@pytest.mark.parametrize(
    ("model", "cores", "devices", "slug"),
    [
        ("Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz", 16, ("NVIDIA H200",), "intel-xeon-gold-6354-16c-h200"),
        ("AMD EPYC 7B13 64-Core Processor", 64, ("NVIDIA A100-SXM4-80GB",) * 2, "amd-epyc-7b13-64c-2x-a100-sxm4-80gb"),
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


def test_a_checkout_tells_its_commit_and_whether_files_differ_and_stays_as_it_is(tmp_path: Path) -> None:
    """Git would write its index anew: whoever is killed then leaves its lock, and nobody can commit any more."""
    assert source_commit(tmp_path) == "unknown"

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
    commit = source_commit(tmp_path)
    assert len(commit) == 12
    assert index.read_bytes() == before
    file.write_text("another")
    assert source_commit(tmp_path) == f"{commit}+changes"


def test_the_same_host_has_the_same_mark_another_another_and_the_number_itself_is_not_in_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(description, "MACHINE_ID", tmp_path / "machine-id")
    monkeypatch.setattr(description.platform, "system", lambda: "Linux")
    assert description.host_mark() is None
    number, marks = "0123456789abcdef0123456789abcde5", []
    for text in (number, f"{number}\n", "1" * 32):
        (tmp_path / "machine-id").write_text(text)
        marks.append(description.host_mark() or "")
    assert marks[0] == marks[1] != marks[2]
    assert len(marks[0]) == 16
    assert marks[0][:8] not in number
