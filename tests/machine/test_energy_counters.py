"""Which counters of energy there are, on machines that are made of files and of a driver that is made up."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from respeed.machine import energy
from respeed.machine.energy import cpu_counters, energy_counters, energy_in_a_line

PCI = "00000000:41:00.0"


class NVMLError(Exception):
    pass


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, int | None]], None]:
    """A driver whose devices, by address, have used so many millijoules; None for a card too old to say."""

    def make(devices: dict[str, int | None]) -> None:
        module = ModuleType("pynvml")

        def used(handle: str) -> int:
            found = devices[handle]
            if found is None:
                raise NVMLError("Not Supported")
            return found

        def by_address(address: bytes) -> str:
            if address.decode() not in devices:
                raise NVMLError("Not Found")
            return address.decode()

        vars(module).update(
            NVMLError=NVMLError,
            nvmlInit=lambda: None,
            nvmlShutdown=lambda: None,
            nvmlDeviceGetCount=lambda: len(devices),
            nvmlDeviceGetHandleByIndex=lambda index: list(devices)[index],
            nvmlDeviceGetHandleByPciBusId=by_address,
            nvmlDeviceGetTotalEnergyConsumption=used,
        )
        monkeypatch.setitem(sys.modules, "pynvml", module)

    return make


def zone(powercap: Path, place: str, name: str, microjoules: int = 5_000_000) -> None:
    folder = powercap / f"intel-rapl:{place}"
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    (folder / "max_energy_range_uj").write_text("262143328850\n")


def test_every_package_counts_and_no_part_of_one(tmp_path: Path) -> None:
    for place, name in (("0", "package-0"), ("0:0", "core"), ("0:1", "dram"), ("1", "package-1"), ("2", "psys")):
        zone(tmp_path, place, name)
    counters, why_not = cpu_counters(tmp_path)
    assert [counter.domain for counter in counters] == ["package-0", "package-1"]
    assert why_not == ""
    assert counters[0].read() == pytest.approx(5.0)
    assert counters[0].wraps_at == pytest.approx(262143.328850)


def test_a_machine_without_counters_says_where_they_would_be(tmp_path: Path) -> None:
    assert cpu_counters(tmp_path)[0] == []
    assert "intel-rapl:0 is not there" in cpu_counters(tmp_path)[1]


def test_counters_that_only_root_may_read_are_named_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zone(tmp_path, "0", "package-0")
    read = Path.read_text

    def refuse(path: Path, **arguments: str) -> str:
        if path.name == "energy_uj":
            raise PermissionError(13, "Permission denied")
        return read(path, **arguments)

    monkeypatch.setattr(Path, "read_text", refuse)
    assert cpu_counters(tmp_path) == ([], f"{tmp_path} is readable by root only")


def test_a_counter_that_is_no_number_is_none(tmp_path: Path) -> None:
    zone(tmp_path, "0", "package-0")
    (tmp_path / "intel-rapl:0/energy_uj").write_text("")
    assert "cannot be read" in cpu_counters(tmp_path)[1]


def test_on_macos_the_reason_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy.platform, "system", lambda: "Darwin")
    assert "macOS" in energy_counters("cpu", powercap=tmp_path)[1]


def test_a_row_on_a_gpu_counts_that_device_and_the_packages(
    tmp_path: Path, driver: Callable[[dict[str, int | None]], None]
) -> None:
    zone(tmp_path, "0", "package-0")
    driver({"00000000:01:00.0": 1, PCI: 7_000})
    counters, why_not = energy_counters("cuda:1", PCI, tmp_path)
    assert [counter.domain for counter in counters] == ["GPU", "package-0"]
    assert why_not == ""
    assert counters[0].read() == pytest.approx(7.0)
    assert counters[0].wraps_at is None


@pytest.mark.parametrize(
    ("device", "pci", "devices", "why"),
    [
        ("cuda", PCI, {PCI: None}, "Not Supported"),
        ("cuda", PCI, {}, "Not Found"),
        ("cuda", None, {PCI: 1}, "does not tell which"),
        ("xpu", None, {}, "only NVIDIA's"),
        ("mps", None, {}, "only NVIDIA's"),
    ],
)
def test_without_its_own_counter_a_row_on_a_device_has_none_at_all(
    tmp_path: Path, driver: Callable[[dict[str, int | None]], None], device: str, pci: str | None,
    devices: dict[str, int | None], why: str,
) -> None:  # fmt: skip
    zone(tmp_path, "0", "package-0")
    driver(devices)
    counters, why_not = energy_counters(device, pci, tmp_path)
    assert counters == []
    assert why in why_not


def test_a_device_that_is_lost_meanwhile_is_an_oserror(
    tmp_path: Path, driver: Callable[[dict[str, int | None]], None]
) -> None:
    devices: dict[str, int | None] = {PCI: 1}
    driver(devices)
    (counter,), _ = energy_counters("cuda", PCI, tmp_path)
    devices[PCI] = None
    with pytest.raises(OSError, match="Not Supported"):
        counter.read()


def test_a_line_says_what_can_be_read(tmp_path: Path, driver: Callable[[dict[str, int | None]], None]) -> None:
    driver({PCI: 1, "00000000:42:00.0": None})
    assert energy_in_a_line(tmp_path).endswith("1 of 2 NVIDIA devices")
    assert "not measured" in energy_in_a_line(tmp_path)
    zone(tmp_path, "0", "package-0")
    assert energy_in_a_line(tmp_path) == "package-0; 1 of 2 NVIDIA devices"
