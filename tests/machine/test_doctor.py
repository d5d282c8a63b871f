"""Machines that are made up whole, of files, drivers and programs: all that doctor says of one, and its description.
The folder `pretended` has the machines, and what is said of them."""

import contextlib
import errno
import io
import json
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace as Made
from typing import Any

import psutil
import pytest
import yaml

from respeed import doctor, machine
from respeed.cli import main
from respeed.errors import NotMeasurable
from respeed.inputs import machines
from respeed.machine import cpu, devices, process
from respeed.measure import timing
from respeed.paths import COMPLAINTS
from respeed.schedule import rows
from tests.known import assert_known
from tests.made import description

HERE = Path(__file__).parent / "pretended"
PROFILES = ("cpu-bf16", "gpu", "gpu-bf16", "gpu-jax", "mkl-1", "mkl-all", "openblas-1", "torch-1", "torch-all", "tpu")
# Our own process, a device, its address, and which of its clocks and temperatures are asked for (nvml.h).
OWN, GPU, PCI = 4242, "a device", "00000000:41:00.0"
WHICH = {"DeviceGetClockInfo": [1], "DeviceGetMaxClockInfo": [1], "DeviceGetTemperature": [0]}
MACHINES = yaml.safe_load((HERE / "machines.yaml").read_bytes())
ANOTHER = MACHINES.pop("another")


def pretend(made: Mapping[str, Any], root: Path, patch: pytest.MonkeyPatch) -> None:
    """Make this process take that machine, whose files lie in a folder, for its own."""
    files = {f"hardware/{name}.yaml": machines.PROFILE_FILES.path(name).read_text("utf-8") for name in PROFILES}
    files["hardware/two.yaml"] = files["hardware/torch-all.yaml"].replace(": all\n", ": 2\ncpus: 1, 2\n")
    files["hardware/apple.yaml"] = files["hardware/gpu.yaml"].replace("cuda\n", "mps\n")
    for name, text in (files | made["files"]).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    for module, name in (
        (cpu, "SYS"), (machine, "MACHINE_ID"), (devices, "POWERCAP"), (devices, "GPU_FILES"), (process, "GROUPS"),
        (process, "MEMBERSHIP"), (timing, "_CPUS"), (cpu, "SVE_BYTES"),
    ):  # fmt: skip
        patch.setattr(module, name, root / str(getattr(module, name)).lstrip("/"))
    drivers = {kind: [f"{root}{path}" for path in paths] for kind, paths in devices.DRIVERS.items()}
    patch.setattr(devices, "DRIVERS", drivers)
    patch.setattr(cpu, "Path", lambda path: root / path.lstrip("/"))
    for name, text in made["system"].items():
        patch.setattr(platform, name, lambda text=text: text)
    patch.setattr(os, "sched_getaffinity", lambda pid: made["allowed"], raising=False)
    if made["allowed"] is None:
        patch.delattr(os, "sched_getaffinity")
    patch.setattr(os, "cpu_count", lambda: 4)
    patch.setattr(timing, "utc_now", lambda: made.get("now", "2026-01-01T00:00:00+00:00"))
    patch.setattr(doctor, "seconds_now", iter([5.0, 7.0]).__next__)
    lost = {"throttled_seconds": made.get("hot"), "quota_seconds": made.get("stopped")}
    patch.setattr(doctor, "difference", lambda before, after: lost)
    patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    patch.setattr(os, "getpid", lambda: OWN)
    for module in (cpu, machine):
        patch.setattr(module, "output_of", lambda *words: made["commands"].get(" ".join(words), ""))
    for module in (doctor, machine):
        patch.setattr(module, "scipy_library", lambda: made["blas"])
    patch.setattr(platform, "python_version", lambda: made["packages"]["python"])
    patch.setattr(metadata, "version", lambda name: made["packages"].get(name) or metadata.distribution("none").version)
    patch.setattr(rows, "importlib", Made(util=Made(find_spec=made["packages"].get)))
    patch.setattr(doctor, "load_config", lambda: Made(this_machine=made["machine"] or machine.machine_slug()))
    patch.setattr(doctor, "WIDTHS", None)
    patch.setattr(shutil, "disk_usage", lambda folder: Made(free=made.get("room", 5e10)))
    patch.setenv("XDG_CACHE_HOME", str(root / "cache"))
    patch.chdir(root)
    patch.setattr(doctor, "PROFILE_FILES", replace(machines.PROFILE_FILES, folder=root / "hardware"))
    pretend_programs(made, patch)
    pretend_devices(made, patch)


def pretend_programs(made: Mapping[str, Any], patch: pytest.MonkeyPatch) -> None:
    """Let psutil tell of programs, whose shares are counted from the first look on, of memory and of power."""
    looks = iter([False, True])

    def look(facts: list[str]) -> Iterator[Made]:
        counts = next(looks)
        for pid, (name, percent) in enumerate(made["programs"].items()):
            told = {"cpu_percent": percent if counts else 0.0, "name": name}
            yield Made(pid=OWN if name == "doctor" else pid, info={fact: told[fact] for fact in facts})

    free, swapped = (2**30 * one for one in made["memory"])
    patch.setattr(psutil, "process_iter", look)
    patch.setattr(psutil, "cpu_count", lambda logical: 4 if logical else made["physical"])
    patch.setattr(psutil, "virtual_memory", lambda: Made(total=2**34, available=free))
    patch.setattr(psutil, "Process", lambda: Made(memory_info=lambda: Made(rss=7)))
    patch.setattr(psutil, "swap_memory", lambda: Made(used=swapped))
    spent = Made(_asdict=made["times"].copy)
    patch.setattr(psutil, "cpu_times_percent", lambda seconds: spent)
    patch.setattr(psutil, "sensors_battery", lambda: made["battery"] and Made(**made["battery"]))


def open_driver(error: str | None, opened: list[bool]) -> None:
    """Open the library; or raise its error, as after an update of the driver."""
    opened.append(True)
    if error:
        refused = RuntimeError(error)
        refused.value = 18
        raise refused


def pretend_devices(made: Mapping[str, Any], patch: pytest.MonkeyPatch) -> None:
    """Let NVIDIA's driver, a trial of each device, and the reference probe tell what that machine's do."""
    found = {("DeviceGetCount",): made["gpus"], ("DeviceGetHandleByPciBusId", PCI.encode()): GPU}
    found |= {("DeviceGetHandleByIndex", index): GPU for index in range(made["gpus"])}
    answers = json.loads(json.dumps([*made["nvml"].items()]), object_hook=lambda keys: Made(**keys))
    found |= {(name, *([GPU] * name.startswith("Device")), *WHICH.get(name, ())): answer for name, answer in answers}
    opened: list[bool] = []
    ask = {f"nvml{name}": lambda *asked, name=name: opened[0] and found[name, *asked] for name, *_ in found}
    ask["nvmlInit"] = partial(open_driver, made.get("driver_error"), opened)
    patch.setitem(sys.modules, "pynvml", Made(**ask) if made["gpus"] else None)

    def try_device(backend: str, device: str) -> Any:
        return made["trials"][f"{backend} on {device}" if device == "cpu" else backend]

    def make_backend(name: str, *, device: str, precision: str, threads: int, seed: int) -> Any:
        assert (name, device, precision) == ("numpy", "cpu", "fp32")
        if isinstance(made["ran"], str):
            raise NotMeasurable(made["ran"])
        return Made(threads=threads, describe=lambda: {"kernel": made.get("kernel", "unknown")})

    def measure_ceilings(backend: Any) -> dict[str, float]:
        assert backend.threads in (1, len(cpu.usable_cores()))
        flops = made["gflops"][0 if backend.threads == 1 else -1]
        return {"flops_per_second": 1e9 * flops, "bytes_per_second": 1e9 * made.get("gbytes", 20)}

    probe = Made(seconds=iter([0.01] * (200 - made["slow"]) + [0.0126] * made["slow"]).__next__)
    patch.setattr(rows, "probe_device", lambda backend, device: made["trials"].get(backend, {}))
    patch.setattr(doctor, "probe_device", try_device)
    patch.setattr(doctor, "forget_trials", lambda: None)
    patch.setattr(doctor, "who_measures", lambda: made.get("holder"))
    patch.setattr(doctor, "make_backend", make_backend)
    patch.setattr(doctor, "measure_ceilings", measure_ceilings)
    patch.setattr(doctor, "make_bench", lambda backend: (Made(probe=probe), {"threads_ran": made["ran"]}))


def forget() -> None:
    """Forget what the system said of its CPU and accelerators."""
    COMPLAINTS.clear()
    for read in (cpu._lscpu, cpu._sysctl, cpu._cpuinfo, devices.accelerator_names):
        read.cache_clear()


def told_of(name: str, root: Path) -> str:
    """What is said of a machine, with "/" for the folder of its files, and columns as narrow as can be."""
    forget()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as printed:
        pretend(MACHINES[name], root, patch)
        print(f"exit code {doctor.examine(as_json=False)}\n")
        facts = machine.describe_machine()
        print(*(f"{name}: {fact!r}" for name, fact in facts.items()), machine.machine_slug(), sep="\n")
        print(*(machine.difference({field: value}, facts) for field, value in ANOTHER.items()), sep="\n")
        print(f"throttled: {timing.take_snapshot().counts | {'minor_faults': 0}}, bytes free: {process.memory_free()}")
        print(f"missing: {[*map(devices.missing_device, ('cpu', 'cuda:1', 'xpu', 'mps', 'tpu'))]}")
        for device, pci in (("cpu", None), ("cuda:1", PCI), ("cuda", None), ("cuda", PCI[:-1]), ("xpu", PCI)):
            counters, why_not = devices.energy_counters(device, pci)
            joules = [(one.domain, one.read(), one.wraps_at) for one in counters]
            print(f"{device} at {pci}: {devices.clock_reader(device, pci)()}, {joules} {why_not}")
    forget()
    return re.sub(r"(?<=  ) +|(?<=---)-+", "", printed.getvalue().replace(f"{root}/", "/"))


@pytest.mark.known
@pytest.mark.parametrize("name", MACHINES)
def test_doctor_describes_known_machines_as_before(name: str, tmp_path: Path) -> None:
    """Doctor says what it looked at and what to do and a description what the machine is."""
    assert_known(HERE / f"{name}.txt", told_of(name, tmp_path))


def refuse(number: int, *given: Any, **named: Any) -> Any:
    """Fail as the system does."""
    raise OSError(number, os.strerror(number))


def write_another(machine: str) -> None:
    """The description of a machine with another CPU, under this name."""
    path = Path("results/records") / machine / "machine.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(description()), "utf-8")


# What is wrong, how it is made so, the subject of the finding, and words of its state and advice.
WRONG: dict[str, tuple[Callable[[pytest.MonkeyPatch], object], str, str, str]] = {
    "a system that refuses to bind": (
        lambda patch: patch.setattr(os, "sched_setaffinity", partial(refuse, errno.EPERM)),
        "binding to CPUs", "refused: [Errno 1]", "allow sched_setaffinity",
    ),
    "a cache that cannot be made": (
        lambda patch: patch.setenv("XDG_CACHE_HOME", "/proc/cache"),
        "cache", "/respeed, 50 GB free", "/proc/cache",
    ),
    "a nearly full disk": (
        lambda patch: patch.setattr(shutil, "disk_usage", lambda folder: Made(free=4e7)),
        "results", "results, 0.04 GB free", "make room",
    ),
    "no locks": (
        lambda patch: patch.setattr("fcntl.flock", partial(refuse, errno.ENOSYS)),
        "cache", "50 GB free, no locks", "start nothing else here",
    ),
    "a folder that cannot be written to": (
        lambda patch: patch.setattr(tempfile, "NamedTemporaryFile", partial(refuse, errno.EROFS)),
        "results", "no permission to write", "make it writable",
    ),
    "records of another machine": (
        lambda patch: write_another("box"),
        "records", "of another machine", "give this one a name: --config machine=NAME",
    ),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_doctor_says_what_would_stop_a_run(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make, subject, state, advice = WRONG[wrong]
    forget()
    pretend(MACHINES["fine"], tmp_path, monkeypatch)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    make(monkeypatch)
    assert main(["doctor", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    wrong_ones = {finding["subject"]: finding for finding in document["findings"] if finding["advice"]}
    assert wrong_ones.keys() <= {subject, "cache", "results"}
    finding = wrong_ones[subject]
    assert state in finding["state"]
    assert advice in finding["advice"]


def test_the_document_has_findings_and_every_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    forget()
    pretend(MACHINES["fine"], tmp_path, monkeypatch)
    assert main(["doctor", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["machine"], document["fit"]) == ("box", True)
    assert {*document["findings"][0]} == {"subject", "state", "advice", "speed"}
    profiles = {profile.pop("profile"): profile for profile in document["profiles"]}
    assert {*profiles} == {*PROFILES, "two", "apple"}
    label = "PyTorch, all cores"
    assert profiles["two"] == {"label": label, "applies": True, "threads": 2, "CPUs": "1-2", "remark": None}
    assert profiles["tpu"] == {
        "label": "JAX (XLA), TPU", "applies": False, "threads": None, "CPUs": None, "remark": "no TPU device",
    }  # fmt: skip


def test_nothing_is_timed_beside_another_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    forget()
    pretend(MACHINES["fine"] | {"holder": "pid 7", "trials": {}, "gflops": []}, tmp_path, monkeypatch)
    monkeypatch.setattr(rows, "probe_device", lambda backend, device: {})
    assert main(["doctor", "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert findings[-1]["state"] == "another measurement is running: pid 7"
    assert findings[-1]["advice"] == "wait for it"


def test_a_chosen_gpu_is_named_and_an_unknown_plug_is_no_battery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a battery is charged to a part only, the system does not tell whether it is plugged in."""
    forget()
    pretend(MACHINES["fine"] | {"battery": {"power_plugged": None}}, tmp_path, monkeypatch)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert main(["doctor"]) == 0
    screen = capsys.readouterr().out
    assert "NVIDIA RTX PRO 6000 Blackwell Server Edition, CUDA_VISIBLE_DEVICES=0" in screen
    assert "battery" not in screen
