"""What NVIDIA's driver tells of its devices, which counters of energy there are, and what doctor makes of it.

The machines are made of files, and of a driver that is made up.
"""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from respeed import doctor
from respeed.machine import describe_machine, devices
from respeed.machine.devices import EnergyCounter, clock_reader, cpu_counters, device_facts, energy_counters

pynvml = pytest.importorskip("pynvml")

PCI = "00000000:41:00.0"
ANSWERS: dict[str, Any] = {
    "SystemGetDriverVersion": "580.65", "DeviceGetName": "NVIDIA A100",
    "DeviceGetMemoryInfo": SimpleNamespace(total=40 * 2**30), "DeviceGetPowerManagementLimit": 300_000,
    "DeviceGetPowerManagementDefaultLimit": 400_000, "DeviceGetEccMode": [1, 1],
    "DeviceGetTotalEnergyConsumption": 7_000_000_000, "DeviceGetComputeRunningProcesses": [SimpleNamespace(pid=1)],
    "DeviceGetClockInfo": 210, "DeviceGetMaxClockInfo": 1410, "DeviceGetTemperature": 31,
    "DeviceGetPowerUsage": 69_800, "DeviceGetCurrentClocksEventReasons": 4,
}  # fmt: skip
FACTS = {
    "name": "NVIDIA A100", "driver": "580.65", "memory_bytes": 40 * 2**30, "power_limit_watts": 300.0,
    "default_power_limit_watts": 400.0, "ecc": True, "counts_energy": True, "processes": 1,
}  # fmt: skip
CLOCK = {"sm_mhz": 210, "highest_sm_mhz": 1410, "watts": 69.8, "celsius": 31, "reasons": 4}


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """NVIDIA's library with one device, which tells what this dict says, and nothing of what is taken from it."""
    answers = dict(ANSWERS)

    def query(name: str) -> Any:
        def ask(*_: Any) -> Any:
            if name not in answers:
                raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
            return answers[name]

        return ask

    there = {PCI.encode(): "device"}
    given = {"Init": lambda: None, "DeviceGetCount": lambda: 1, "DeviceGetHandleByIndex": lambda index: "device",
             "DeviceGetHandleByPciBusId": there.__getitem__}  # fmt: skip
    for name, answer in (given | {name: query(name) for name in ANSWERS}).items():
        monkeypatch.setattr(pynvml, f"nvml{name}", answer)
    monkeypatch.setattr(devices, "accelerator_names", devices.accelerator_names.__wrapped__)
    monkeypatch.setattr("respeed.machine.accelerator_names", devices.accelerator_names)
    return answers


@pytest.fixture
def powercap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """RAPL's folder on a machine with two packages and parts of them, each of which has used 5 J."""
    monkeypatch.setattr(devices, "POWERCAP", tmp_path)
    for place, name in (("0", "package-0"), ("0:0", "core"), ("0:1", "dram"), ("1", "package-1"), ("2", "psys")):
        folder = tmp_path / f"intel-rapl:{place}"
        folder.mkdir()
        for file, text in (("name", name), ("energy_uj", "5000000"), ("max_energy_range_uj", "262143328850")):
            (folder / file).write_text(f"{text}\n")
    return tmp_path


def test_a_device_tells_what_it_is_and_how_its_clock_is(nvml: dict[str, Any]) -> None:
    assert device_facts() == device_facts(PCI) == [FACTS]
    assert clock_reader("cuda:1", PCI)() == pytest.approx(CLOCK)
    assert describe_machine()["accelerators"] == ["NVIDIA A100"]
    nvml["DeviceGetClockInfo"] = nvml["DeviceGetPowerUsage"] = 2**32 - 1  # not available
    assert clock_reader("cuda", PCI)().keys() == CLOCK.keys() - {"sm_mhz", "watts"}


def test_a_query_that_nvml_does_not_answer_fails_alone(nvml: dict[str, Any]) -> None:
    for query in ANSWERS:
        answer = nvml.pop(query)
        (facts,), clock = device_facts(), clock_reader("cuda", PCI)()
        assert facts | clock == {key: value for key, value in (FACTS | CLOCK).items() if key in facts | clock}
        assert len(facts | clock) == len(FACTS | CLOCK) - 1
        assert describe_machine()["accelerators"] == ["NVIDIA GPU" if query == "DeviceGetName" else "NVIDIA A100"]
        nvml[query] = answer


@pytest.mark.usefixtures("nvml", "powercap")
def test_a_device_that_nvml_does_not_know_has_no_clock_and_a_row_on_it_no_energy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for device, pci in (("cuda", None), ("xpu", PCI), ("cuda", PCI[:-1])):
        assert clock_reader(device, pci)() == {}
        why_not = f"only {device} devices that NVML knows count their energy"
        assert energy_counters(device, pci) == ([], why_not)
    # Nor of a slice are those of the whole board.
    monkeypatch.setattr(pynvml, "nvmlDeviceGetMigMode", lambda gpu: [1, 1])
    assert clock_reader("cuda", PCI)() == {}
    reason = "a MIG slice: its board counts energy and reports clocks for all slices together"
    assert energy_counters("cuda", PCI) == ([], reason)


def test_a_row_on_a_gpu_counts_that_device_and_every_package_and_no_part_of_one(
    nvml: dict[str, Any], powercap: Path
) -> None:
    packages, counters = energy_counters("cpu")[0], energy_counters("cuda:1", PCI)[0]
    assert [counter.domain for counter in packages] == ["package-0", "package-1"]
    assert [counter.domain for counter in counters] == ["GPU", "package-0", "package-1"]
    assert [counter.read() for counter in counters] == pytest.approx([7e6, 5.0, 5.0])
    assert [counter.wraps_at for counter in counters] == [None, *2 * [pytest.approx(262143.328850)]]
    del nvml["DeviceGetTotalEnergyConsumption"]
    found, why_not = energy_counters("cuda:1", PCI)
    assert (found, "Not Supported" in why_not) == ([], True)


def test_a_machine_whose_counters_cannot_be_read_says_why(powercap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (powercap / "intel-rapl:1/energy_uj").write_text("")
    assert "cannot be read" in cpu_counters()[1]
    (powercap / "intel-rapl:0/energy_uj").unlink()  # as one that nobody may read
    found, why_not = cpu_counters()
    assert (found, f"'{powercap}/intel-rapl:0/energy_uj'" in why_not) == ([], True)
    monkeypatch.setattr(devices, "POWERCAP", powercap / "none")
    assert cpu_counters() == ([], f"this system shows no counter of a CPU's energy in {powercap}/none")


RANGE = 65532.610987


def used(wraps_at: float | None, before: float, after: float, seconds: float = 1.0) -> float:
    return EnergyCounter("package-0", lambda: 0.0, wraps_at).between(before, after, seconds)


def test_a_counter_that_begins_anew_says_what_was_used_and_one_that_may_have_gone_round_unseen_nothing() -> None:
    assert used(RANGE, RANGE - 1, 2.0) == pytest.approx(3.0)
    assert used(None, 4.0, 5.0, 1e9) == used(RANGE, 1.0, 2.0, RANGE / devices.MOST_WATTS * 0.99) == 1.0
    assert math.isnan(used(None, 5.0, 4.0))
    assert math.isnan(used(RANGE, 1.0, 2.0, RANGE / devices.MOST_WATTS))


def test_without_a_driver_of_its_kind_no_device_can_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "accelerator_names", tuple)
    for there, expected in ((), ["cuda:1", "xpu", "mps", "tpu"]), (("/dev/kfd", "/dev/dri", "/dev/vfio"), ["mps"]):
        monkeypatch.setattr(devices.os.path, "exists", lambda path, there=there: path in there)
        missing = {one: devices.missing_device(one) for one in ("cpu", "cuda:1", "xpu", "mps", "tpu")}
        assert [one for one, reason in missing.items() if reason] == expected
        assert missing["mps"] == "no MPS device"


def test_doctor_ends_well_where_nothing_is_to_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_cpu", "_memory", "_programs", "_devices", "_lock_and_steadiness", "_profiles"):
        monkeypatch.setattr(doctor, name, list)
    for advice, code in (("", 0), ("wait", 1)):
        found = [doctor.Finding("a subject", "found"), doctor.Finding("another", "found", advice)]
        monkeypatch.setattr(doctor, "_facts", lambda name, found=found: found)
        assert doctor.examine() == code


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({}, {"Tesla T4": "", "torch on cuda": ""}),
        ({"power_limit_watts": 60.0}, {"Tesla T4": "raise the power limit: sudo nvidia-smi -pl 70"}),
        ({"processes": 2}, {"Tesla T4": "end the other programs on it, or measure later"}),
        ({"reasons": {"fp32": "too old", "bf16": "too old"}}, {"torch on cuda": "too old"}),
        ({"reasons": {"fp32": None, "bf16": "no bf16"}}, {"torch on cuda": ""}),
    ],
)
def test_doctor_says_what_is_amiss_with_a_gpu(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], advice: dict[str, str]
) -> None:
    facts = {"name": "Tesla T4", "power_limit_watts": 70.0, "default_power_limit_watts": 70.0} | changes
    answer = {key: changes[key] for key in ("reason", "reasons") if key in changes}
    monkeypatch.setattr(doctor, "device_facts", lambda: [facts])
    monkeypatch.setattr(doctor, "missing_device", lambda device: None if device == "cuda" else "no such device")
    monkeypatch.setattr(doctor, "probe_device", lambda *asked, **how: answer)
    assert advice.items() <= {finding.subject: finding.advice for finding in doctor._devices()}.items()
