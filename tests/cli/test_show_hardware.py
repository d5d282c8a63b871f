"""respeed hardware: the machine, and every profile, also beside one that is wrong."""

from dataclasses import replace
from pathlib import Path

import pytest

from respeed.cli import machine as hardware
from respeed.inputs.config import load_config
from respeed.inputs.profiles import read_profiles
from respeed.machine.cpu import Core, cores_as_facts
from respeed.paths import HARDWARE


def test_every_profile_has_a_line_also_one_whose_file_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("torch-1", "accelerate-1"):
        (tmp_path / f"{name}.yaml").write_text((HARDWARE / f"{name}.yaml").read_text())
    (tmp_path / "second-gpu.yaml").write_text((HARDWARE / "gpu.yaml").read_text() + "devise: cuda:1\n")
    monkeypatch.setattr(hardware, "read_profiles", lambda: read_profiles(tmp_path))
    facts = hardware.describe_machine()
    cores = cores_as_facts(
        [Core((0, 4), 0, "performance"), Core((1, 5), 0, "performance"), Core((2,), 1, "efficiency")]
    )
    machine = facts | {"cores": cores, "core_kinds": {"performance": 2, "efficiency": 1}, "devices": {"cuda": 2}}
    monkeypatch.setattr(hardware, "describe_machine", lambda: machine)
    hardware.show_hardware()
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for expected in (
        "core kinds 2 performance cores, 1 efficiency cores",
        "devices cuda: 2",
        "socket 0 performance 2 usable, CPU 0-1, 4-5, 2 a core",
        "socket 1 efficiency 1 usable, CPU 2",
    ):
        assert expected in lines
    wrong = next(line for line in lines if line.startswith("second-gpu"))
    assert "wrong" in wrong
    assert "unknown key 'devise' (did you mean device?)" in wrong
    assert any(line.startswith("torch-1 PyTorch, one core yes 1 thread") for line in lines)
    assert any(line.startswith("accelerate-1 Accelerate, one core no needs Accelerate") for line in lines)


def test_the_price_is_that_of_the_machine_that_the_configuration_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = load_config(strict=False)
    monkeypatch.setattr(hardware, "load_config", lambda **_: replace(config, machine="my-desk"))
    hardware.show_hardware()
    told = capsys.readouterr().out
    assert told.startswith("my-desk\n")
    assert "none is told: ./run respeed new machine my-desk" in told
