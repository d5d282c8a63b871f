"""What NVIDIA's driver tells of its devices, and what doctor makes of it."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from respeed.cli import machine as doctor
from respeed.machine import accelerators
from respeed.machine.accelerators import clock_reader, device_facts
from respeed.machine.description import describe_machine

pynvml = pytest.importorskip("pynvml")

PCI = "00000000:41:00.0"
ANSWERS: dict[str, Any] = {
    "SystemGetDriverVersion": "580.65", "DeviceGetName": "NVIDIA A100",
    "DeviceGetMemoryInfo": SimpleNamespace(total=40 * 2**30), "DeviceGetCudaComputeCapability": (8, 0),
    "DeviceGetPowerManagementLimit": 300_000, "DeviceGetPowerManagementDefaultLimit": 400_000,
    "DeviceGetClockInfo": 210, "DeviceGetMaxClockInfo": 1410, "DeviceGetTemperature": 31, "DeviceGetEccMode": [1, 1],
    "DeviceGetComputeRunningProcesses": [SimpleNamespace(pid=1)], "DeviceGetPowerUsage": 69_800,
    "DeviceGetCurrentClocksEventReasons": 4,
}  # fmt: skip
FACTS = {
    "name": "NVIDIA A100", "driver": "580.65", "memory_bytes": 40 * 2**30, "capability": "8.0",
    "power_limit_watts": 300.0, "default_power_limit_watts": 400.0, "clock_mhz": 210, "highest_clock_mhz": 1410,
    "temperature_celsius": 31, "ecc": True, "processes": 1,
}  # fmt: skip
CLOCK = {"sm_mhz": 210, "highest_sm_mhz": 1410, "watts": 69.8, "celsius": 31, "reasons": 4}


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """NVIDIA's library with one device, which tells what this dict says, and nothing of what is taken from it."""
    answers = dict(ANSWERS)

    def query(name: str) -> Any:
        def ask(*_: Any) -> Any:
            if name not in answers:
                raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
            return answers[name]

        return ask

    for name in ANSWERS:
        monkeypatch.setattr(pynvml, f"nvml{name}", query(name))
    there = {PCI.encode(): "device"}
    for name, answer in {
        "Init": lambda: None, "Shutdown": lambda: None, "DeviceGetCount": lambda: 1,
        "DeviceGetHandleByIndex": lambda index: "device", "DeviceGetHandleByPciBusId": there.__getitem__,
    }.items():  # fmt: skip
        monkeypatch.setattr(pynvml, f"nvml{name}", answer)
    accelerators.accelerator_names.cache_clear()
    yield answers
    accelerators.accelerator_names.cache_clear()


def test_a_device_tells_what_it_is_and_how_its_clock_is(nvml: dict[str, Any]) -> None:
    assert device_facts() == device_facts(PCI) == [FACTS]
    assert clock_reader("cuda:1", PCI)() == pytest.approx(CLOCK)
    assert describe_machine()["accelerators"] == ["NVIDIA A100"]
    assert accelerators.accelerator_bytes() == {"NVIDIA A100": 40 * 2**30}


@pytest.mark.parametrize("query", ANSWERS)
def test_a_query_that_nvml_does_not_answer_fails_alone(nvml: dict[str, Any], query: str) -> None:
    del nvml[query]
    (facts,), clock = device_facts(), clock_reader("cuda", PCI)()
    assert facts.items() <= FACTS.items()
    assert clock.items() <= CLOCK.items()
    assert 1 <= len(FACTS) - len(facts) + len(CLOCK) - len(clock) <= 2
    assert describe_machine()["accelerators"] == ["NVIDIA GPU" if query == "DeviceGetName" else "NVIDIA A100"]


def test_what_is_not_available_is_no_number(nvml: dict[str, Any]) -> None:
    nvml["DeviceGetClockInfo"] = nvml["DeviceGetPowerUsage"] = 2**32 - 1
    assert clock_reader("cuda", PCI)().keys() == CLOCK.keys() - {"sm_mhz", "watts"}


@pytest.mark.parametrize(("device", "pci"), [("cpu", None), ("cuda", None), ("xpu", PCI), ("cuda", PCI[:-1])])
@pytest.mark.usefixtures("nvml")
def test_another_device_has_no_clock(device: str, pci: str | None) -> None:
    assert clock_reader(device, pci)() == {}


@pytest.mark.parametrize(
    ("there", "missing"), [((), ["cuda:1", "xpu", "mps"]), (("/dev/kfd", "/dev/dri"), ["mps"])], ids=["none", "two"]
)
def test_without_a_driver_of_its_kind_no_device_can_be_there(
    monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...], missing: list[str]
) -> None:
    monkeypatch.setattr(accelerators, "accelerator_names", tuple)
    monkeypatch.setattr(accelerators.os.path, "exists", lambda path: path in there)
    monkeypatch.setattr(accelerators.platform, "machine", lambda: "x86_64")
    devices = ("cpu", "cuda:1", "xpu", "mps", "tpu")
    assert [device for device in devices if accelerators.missing_device(device)] == missing
    assert accelerators.missing_device("mps") == "no MPS device"


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({}, {"Tesla T4": "", "torch on cuda": ""}),
        ({"power_limit_watts": 60.0}, {"Tesla T4": "raise the power limit: sudo nvidia-smi -pl 70"}),
        ({"processes": 2}, {"Tesla T4": "end the other programs on it, or measure later"}),
        ({"reasons": {"fp32": "too old", "bf16": "too old"}}, {"torch on cuda": "too old"}),
        ({"reasons": {"fp32": None, "bf16": "no bf16"}}, {"torch on cuda": ""}),
        ({"reason": "it hangs"}, {"torch on cuda": "it hangs"}),
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
