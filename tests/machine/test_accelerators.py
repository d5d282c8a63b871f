"""Which accelerators are there, under which numbers."""

from pathlib import Path

import pytest

from respeed.machine import accelerators

NAMES = ["NVIDIA A100", "NVIDIA T4", "NVIDIA H100"]
UUIDS = ["GPU-aa01", "GPU-ab02", "GPU-bc03"]


@pytest.mark.parametrize(
    ("visible", "by_bus", "names", "found"),
    [
        ("0,2", True, NAMES, ["NVIDIA A100", "NVIDIA H100"]),
        ("2, 0", True, NAMES, ["NVIDIA H100", "NVIDIA A100"]),
        ("GPU-b", True, NAMES, ["NVIDIA H100"]),
        ("GPU-ab02,0", True, NAMES, ["NVIDIA T4", "NVIDIA A100"]),
        ("GPU-a", True, NAMES, []),  # of two
        ("1,7,0", True, NAMES, ["NVIDIA T4"]),
        ("1,-1,0", True, NAMES, ["NVIDIA T4"]),
        ("MIG-1234", True, NAMES, ["NVIDIA A100 MIG"]),
        # A number names a device only where its order is known.
        ("0", False, NAMES, ["NVIDIA A100 or NVIDIA H100 or NVIDIA T4"]),
        ("GPU-ab02", False, NAMES, ["NVIDIA T4"]),
        ("2,0", False, ["NVIDIA T4"] * 3, ["NVIDIA T4", "NVIDIA T4"]),
    ],
)
def test_visible_devices_are_numbered_as_cuda_numbers_them(
    visible: str, by_bus: bool, names: list[str], found: list[str]
) -> None:
    assert accelerators.visible_devices(visible, names, UUIDS, by_bus=by_bus) == found


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        ("cpu", None),
        ("cuda", None),
        ("cuda:1", None),
        ("cuda:2", "no CUDA device 2: there are 2, numbered from 0"),
        ("xpu:3", None),  # how many there are is not told
        ("mps:1", "no MPS device 1: there is 1, numbered from 0"),
        ("tpu:1", None),
        ("tpu:2", "no TPU device 2: there are 2, numbered from 0"),
    ],
)
def test_a_device_is_there_if_its_number_is(monkeypatch: pytest.MonkeyPatch, device: str, reason: str | None) -> None:
    counts = {"cuda": 2, "xpu": None, "mps": 1, "tpu": 2}
    monkeypatch.setattr(accelerators, "device_counts", lambda: counts)
    assert accelerators.missing_device(device) == reason
    counts.clear()
    assert accelerators.missing_device(device) in (None, f"no {device.partition(':')[0].upper()} device")


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_a_device_that_is_hidden_is_not_there_and_has_no_number(monkeypatch: pytest.MonkeyPatch, hidden: str) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    accelerators.accelerator_names.cache_clear()
    assert accelerators.accelerator_names() == ()
    monkeypatch.setattr(accelerators.Path, "exists", lambda path: False)
    assert accelerators.missing_device("cuda:0") == accelerators.missing_device("cuda") == "no CUDA device"
    accelerators.accelerator_names.cache_clear()


def test_tpus_are_counted_among_what_their_vendor_has_on_the_bus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    v5e, network_card, another = ("0x1ae0", "0x0063"), ("0x1ae0", "0x0042"), ("0x10de", "0x0063")
    for place, (vendor, device) in enumerate([v5e, network_card, v5e, another]):
        folder = tmp_path / f"0000:00:0{place}.0"
        folder.mkdir()
        (folder / "vendor").write_text(f"{vendor}\n")
        (folder / "device").write_text(f"{device}\n")
    monkeypatch.setattr(accelerators, "BUS", tmp_path)
    assert accelerators.device_counts()["tpu"] == 2
    monkeypatch.setattr(accelerators, "BUS", tmp_path / "no bus")
    assert "tpu" not in accelerators.device_counts()
