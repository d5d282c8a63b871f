"""Which accelerators are there, under which numbers."""

import contextlib
import functools
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from respeed.cli import machine as doctor
from respeed.machine import accelerators, energy
from respeed.machine.accelerators import clock_reader
from respeed.machine.description import describe_machine

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


class DoctoredNvml:
    """NVIDIA's library for one device, of which it tells all but what `fails`."""

    def __init__(self, *fails: str, slices: int = 0) -> None:
        self._fails, self._slices = fails, slices

    def __getattr__(self, query: str) -> Any:
        mib, of = 2**20, {"parent": "NVIDIA A100", 0: "NVIDIA A100 MIG 1g.5gb", 1: "NVIDIA A100 MIG 2g.10gb"}
        answers: dict[str, Any] = {
            "SystemGetDriverVersion": lambda: "580.65", "SystemGetCudaDriverVersion": lambda: 13000,
            "DeviceGetCount": lambda: 1, "DeviceGetHandleByIndex": lambda index: "parent",
            "DeviceGetName": of.__getitem__,
            "DeviceGetUUID": lambda handle: {0: "MIG-a", 1: "MIG-b"}.get(handle, "GPU-a"),
            "DeviceGetMemoryInfo": lambda handle: SimpleNamespace(total=40 * mib),
            "DeviceGetCudaComputeCapability": lambda handle: (8, 0),
            "DeviceGetPowerManagementLimit": lambda handle: 300_000,
            "DeviceGetPowerManagementDefaultLimit": lambda handle: 400_000,
            "DeviceGetClockInfo": lambda handle, kind: 210, "DeviceGetMaxClockInfo": lambda handle, kind: 1410,
            "DeviceGetTemperature": lambda handle, sensor: 31, "DeviceGetEccMode": lambda handle: [1, 1],
            "DeviceGetComputeMode": lambda handle: 3, "DeviceGetMigMode": lambda handle: [int(self._slices > 0), 0],
            "DeviceGetMaxMigDeviceCount": lambda handle: 7, "DeviceGetMigDeviceHandleByIndex": self._slice,
            "DeviceGetComputeRunningProcesses": lambda handle: [SimpleNamespace(pid=pid) for pid in (1, os.getpid())],
            "Shutdown": lambda: None,
        }  # fmt: skip
        if (name := query.removeprefix("nvml")) in self._fails or name not in answers:
            raise RuntimeError("Not Supported")
        return answers[name]

    def _slice(self, handle: str, index: int) -> int:
        if index >= self._slices:
            raise RuntimeError("Not Found")
        return index


@pytest.fixture
def doctored(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes this process's NVML a doctored one."""

    def doctor(*fails: str, slices: int = 0, visible: str | None = None) -> DoctoredNvml:
        driver = DoctoredNvml(*fails, slices=slices)
        monkeypatch.setattr(accelerators, "nvml", lambda: contextlib.nullcontext(driver))
        monkeypatch.setattr(energy, "nvml", accelerators.nvml)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        if visible:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        accelerators.accelerator_names.cache_clear()
        return driver

    yield doctor
    accelerators.accelerator_names.cache_clear()


QUERIES = [query for query, *_ in accelerators._FACTS.values()] + ["SystemGetDriverVersion", "DeviceGetUUID"]


@pytest.mark.parametrize("fails", [*QUERIES, "SystemGetCudaDriverVersion", "DeviceGetCount", "DeviceGetHandleByIndex"])
def test_a_query_that_nvml_does_not_answer_fails_alone(doctored: Any, fails: str) -> None:
    doctored(fails)
    hidden = fails in {"DeviceGetCount", "DeviceGetHandleByIndex"}
    name = "NVIDIA GPU" if fails == "DeviceGetName" else "NVIDIA A100"
    facts = describe_machine()
    assert facts["accelerators"] == ([] if hidden else [name])
    assert (facts["accelerator_driver"] is None) == (hidden or fails == "SystemGetDriverVersion")
    assert accelerators.accelerator_bytes() == ({} if hidden or "MemoryInfo" in fails else {name: 40 * 2**20})
    assert energy.energy_in_a_line()
    for facts in accelerators.device_facts():
        untold = facts.pop("untold", {})
        asked = {key for key, (query, *_) in accelerators._FACTS.items() if query == fails}
        assert set(untold) >= asked
        assert len(untold) == len(asked) + fails.startswith("System")
        assert set(untold.values()) <= {"Not Supported"}
        assert not facts.keys() & untold.keys()


def test_a_device_tells_what_it_is_and_who_else_uses_it(doctored: Any) -> None:
    doctored()
    (facts,) = accelerators.device_facts()
    assert facts == {
        "driver": "580.65", "driver_cuda": "13.0", "name": "NVIDIA A100", "memory_bytes": 40 * 2**20,
        "capability": "8.0", "power_limit_watts": 300.0, "default_power_limit_watts": 400.0, "clock_mhz": 210,
        "highest_clock_mhz": 1410, "memory_clock_mhz": 210, "highest_memory_clock_mhz": 1410, "temperature_celsius": 31,
        "ecc": True, "compute_mode": "exclusive process", "mig": False, "processes": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("visible", "names"),
    [(None, ("1g.5gb",)), ("MIG-b", ("2g.10gb",)), ("MIG-b,MIG-a", ("2g.10gb", "1g.5gb")), ("MIG-elsewhere", ("",))],
)
def test_a_slice_of_a_device_has_a_name_of_its_own(doctored: Any, visible: str | None, names: tuple[str, ...]) -> None:
    doctored(slices=2, visible=visible)
    found = accelerators.accelerator_names()
    assert len(found) == len(names)
    assert all(one.startswith("NVIDIA A100 MIG") and one.endswith(part) for one, part in zip(found, names, strict=True))


def test_a_device_that_only_the_kernel_tells_of_may_be_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(accelerators, "accelerator_names", tuple)
    monkeypatch.setattr(accelerators, "_NODES", (str(tmp_path),))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert accelerators.device_counts()["cuda"] is None
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert "cuda" not in accelerators.device_counts()


CLOCK = {
    "nvmlDeviceGetClockInfo": 1110, "nvmlDeviceGetMaxClockInfo": 1590, "nvmlDeviceGetPowerUsage": 69_800,
    "nvmlDeviceGetTemperature": 74, "nvmlDeviceGetCurrentClocksEventReasons": 4,
    "nvmlDeviceGetCurrentClocksThrottleReasons": 4,
}  # fmt: skip
TOLD = {"sm_mhz": 1110, "highest_sm_mhz": 1590, "watts": pytest.approx(69.8), "celsius": 74, "reasons": 4}


@pytest.mark.parametrize(
    ("refused", "lacks"),
    [
        ([], set()),
        (["nvmlDeviceGetClockInfo"], {"sm_mhz"}),
        (["nvmlDeviceGetMaxClockInfo"], {"highest_sm_mhz"}),
        (["nvmlDeviceGetPowerUsage"], {"watts"}),
        (["nvmlDeviceGetTemperature"], {"celsius"}),
        (["nvmlDeviceGetCurrentClocksEventReasons"], set()),  # a driver before 535
        (["nvmlDeviceGetCurrentClocksThrottleReasons"], set()),
        (["nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"], {"reasons"}),
        ([*CLOCK], {*TOLD}),
    ],
)
def test_of_a_device_s_clock_each_fact_may_be_missing_alone(
    refused: list[str], lacks: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pynvml = pytest.importorskip("pynvml")
    monkeypatch.setattr(pynvml, "nvmlInit", lambda: None)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByPciBusId", lambda pci: {b"00000000:41:00.0": "this"}[pci])
    values = dict(CLOCK)

    def query(name: str, handle: str, *of: int) -> int:
        assert handle == "this"
        if name in refused:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return values[name]

    for name in CLOCK:
        monkeypatch.setattr(pynvml, name, functools.partial(query, name))
    read = clock_reader("cuda:1", "00000000:41:00.0")
    assert read() == {fact: value for fact, value in TOLD.items() if fact not in lacks}
    values["nvmlDeviceGetClockInfo"] = 2**32 - 1  # not available
    assert "sm_mhz" not in read()
    for device, pci in (("cpu", None), ("cuda", None), ("xpu", "00000000:41:00.0"), ("cuda", "00000000:42:00.0")):
        assert clock_reader(device, pci)() == {}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, {"GPU": "", "Tesla T4: state": "", "torch on cuda": "", "Triton": ""}),
        ({"power_limit_watts": 60.0}, {"Tesla T4: state": "raise it: sudo nvidia-smi -pl 70"}),
        ({"compute_mode": "prohibited"}, {"Tesla T4: state": "let programs use it"}),
        ({"users": [os.getpid()]}, {"Tesla T4: others": "end it"}),
        ({"untold": {"ecc": "Not Supported"}}, {"Tesla T4: not told": ""}),
        ({"reasons": {"fp32": "too old", "bf16": "too old"}}, {"torch on cuda": "too old"}),
        ({"reasons": {"fp32": None, "bf16": "no bf16"}}, {"torch on cuda": ""}),
        ({"reason": "it hangs"}, {"torch on cuda": "it hangs"}),
        ({"compiler": None}, {"Triton": "install them"}),
        ({"ecc": True, "mig": False, "temperature_celsius": 1, "clock_mhz": 0, "memory_bytes": 2**34}, {"GPU": ""}),
    ],
)
def test_doctor_says_what_is_amiss_with_a_gpu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changes: dict[str, Any], says: dict[str, str]
) -> None:
    facts = {"name": "Tesla T4", "power_limit_watts": 70.0, "default_power_limit_watts": 70.0} | changes
    answer = {key: changes[key] for key in ("reason", "reasons") if key in changes}
    monkeypatch.setattr(doctor, "device_facts", lambda: [facts])
    monkeypatch.setattr(doctor, "device_users", lambda: [facts.get("users", [])])
    monkeypatch.setattr(doctor, "missing_device", lambda device: None)
    monkeypatch.setattr(doctor, "probe_device", lambda *asked, **how: answer)
    monkeypatch.setattr(doctor.shutil, "which", lambda name: changes.get("compiler", "/usr/bin/cc"))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(doctor.sysconfig, "get_path", lambda name: str(tmp_path))
    (tmp_path / "Python.h").touch()
    told = {finding.subject: finding.found for finding in doctor._devices()}
    if "ecc" in changes:
        state = "power limit 70 W, by default 70 W, clock 0 of unknown MHz, temperature 1 °C, ECC on, MIG off"
        assert told["Tesla T4: state"] == state
        assert told["GPU"] == "Tesla T4, 16.0 GiB, compute capability unknown, driver unknown (CUDA unknown)"
    found = {finding.subject: finding.advice for finding in doctor._devices()}
    for subject, advice in says.items():
        assert (found[subject][: len(advice)], bool(found[subject])) == (advice, bool(advice))
    assert ("Tesla T4: others" in found) == ("users" in facts)
    assert ("Triton" in found) == (not found["torch on cuda"])
    assert [subject for subject in found if " on " in subject] == ["torch on cuda"]


@pytest.mark.parametrize("is_container", [False, True])
def test_doctor_names_another_program_on_a_gpu_where_its_number_is_the_host_s(
    monkeypatch: pytest.MonkeyPatch, is_container: bool
) -> None:
    """In a container a process of the same number may be another one."""
    monkeypatch.setattr(doctor.os, "readlink", lambda path: "pid:[1]" if is_container else doctor.HOSTS_PROCESSES)
    other = f"process {os.getpid()}"
    name = f"{psutil.Process().name()} ({other})"
    assert doctor._program(os.getpid()) == (f"{other} of the host" if is_container else name)
    assert doctor._program(2**30) == f"process {2**30} of the host"
