"""Which counters of energy there are, on machines that are made of files and of a driver that is made up."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respeed.machine import energy
from respeed.machine.energy import MOST_WATTS, EnergyCounter, cpu_counters, energy_counters, energy_in_a_line

PCI = "00000000:41:00.0"
Driver = Callable[[dict[str, int | None]], None]


class NVMLError(Exception):
    pass


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
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


@pytest.fixture(autouse=True)
def _zones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "POWERCAP", tmp_path)


def zone(powercap: Path, place: str, name: str, microjoules: int = 5_000_000) -> None:
    folder = powercap / f"intel-rapl:{place}"
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    (folder / "max_energy_range_uj").write_text("262143328850\n")


def test_every_package_counts_and_no_part_of_one(tmp_path: Path) -> None:
    for place, name in (("0", "package-0"), ("0:0", "core"), ("0:1", "dram"), ("1", "package-1"), ("2", "psys")):
        zone(tmp_path, place, name)
    counters, why_not = cpu_counters()
    assert [counter.domain for counter in counters] == ["package-0", "package-1"]
    assert why_not == ""
    assert counters[0].read() == pytest.approx(5.0)
    assert counters[0].wraps_at == pytest.approx(262143.328850)


def test_a_machine_whose_counters_cannot_be_read_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = f"({tmp_path}/intel-rapl:0 is not there)"
    assert cpu_counters() == ([], f"this system shows no counter of a CPU's energy {there}")
    zone(tmp_path, "0", "package-0")
    (tmp_path / "intel-rapl:0/energy_uj").write_text("")
    assert cpu_counters() == ([], f"{tmp_path}/intel-rapl:0/energy_uj cannot be read")

    def refuse(path: Path) -> float:
        raise PermissionError(13, "Permission denied", path)

    with monkeypatch.context() as patched:
        patched.setattr(energy, "_joules", refuse)
        assert cpu_counters() == ([], f"{tmp_path} is readable by root only")
    monkeypatch.setattr(energy.platform, "system", lambda: "Darwin")
    assert "macOS" in energy_counters("cpu")[1]


def test_a_row_on_a_gpu_counts_that_device_and_the_packages(tmp_path: Path, driver: Driver) -> None:
    zone(tmp_path, "0", "package-0")
    devices: dict[str, int | None] = {"00000000:01:00.0": 1, PCI: 7_000}
    driver(devices)
    counters, why_not = energy_counters("cuda:1", PCI)
    assert [counter.domain for counter in counters] == ["GPU", "package-0"]
    assert why_not == ""
    assert counters[0].read() == pytest.approx(7.0)
    assert counters[0].wraps_at is None
    devices[PCI] = None  # lost meanwhile
    with pytest.raises(OSError, match="Not Supported"):
        counters[0].read()


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
    tmp_path: Path, driver: Driver, device: str, pci: str | None,
    devices: dict[str, int | None], why: str,
) -> None:  # fmt: skip
    zone(tmp_path, "0", "package-0")
    driver(devices)
    counters, why_not = energy_counters(device, pci)
    assert counters == []
    assert why in why_not


def test_a_line_says_what_can_be_read(tmp_path: Path, driver: Driver) -> None:
    driver({PCI: 1, "00000000:42:00.0": None})
    assert energy_in_a_line().endswith("1 of 2 NVIDIA devices")
    assert "not measured" in energy_in_a_line()
    zone(tmp_path, "0", "package-0")
    assert energy_in_a_line() == "package-0; 1 of 2 NVIDIA devices"


RANGE = 65532.610987


def used(wraps_at: float | None, before: float, after: float, seconds: float = 1.0) -> float | None:
    return EnergyCounter("package-0", lambda: 0.0, wraps_at).between(before, after, seconds)


@given(st.floats(0, RANGE, exclude_max=True), st.floats(0, RANGE, exclude_max=True))
def test_a_counter_that_begins_anew_says_what_was_used_all_the_same(before: float, joules: float) -> None:
    found = used(RANGE, before, (before + joules) % RANGE)
    assert found is not None
    assert 0 <= found <= RANGE
    # Next to nothing may come out as next to a whole round: a counter in microjoules cannot.
    assert min(abs(found - joules), RANGE - abs(found - joules)) < 1e-6


def test_a_counter_that_was_set_back_or_may_have_gone_round_unseen_tells_nothing() -> None:
    assert used(None, 4.0, 5.0, 1e9) == 1.0
    assert used(None, 5.0, 4.0) is None
    assert used(RANGE, 1.0, 2.0, RANGE / MOST_WATTS * 0.99) == 1.0
    assert used(RANGE, 1.0, 2.0, RANGE / MOST_WATTS) is None
