"""What a product should reach on CPUs of all kinds, by what their systems print: /proc/cpuinfo, lscpu, sysctl, /sys.

The texts are those of such machines, cut to what matters; a machine has as many CPUs here as its text has processors.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from respeed import doctor
from respeed.cli import main
from respeed.text import squeeze
from tests.machine.test_doctor import MACHINES, forget, pretend

CPUS = "sys/devices/system/cpu"
SSE = "fpu vme de pse tsc msr mmx fxsr sse sse2 ht pni ssse3 sse4_1"
AVX2 = f"{SSE} sse4_2 fma avx f16c avx2 bmi2"
AVX512 = f"{AVX2} avx512f avx512dq avx512cd avx512bw avx512vl"


@dataclass(frozen=True)
class Kind:
    """What a system prints of its CPU, and what follows: GFLOP/s of all cores, computed how and by what."""

    cpuinfo: str
    lscpu: str
    computed: float | None
    how: str
    remark: str
    files: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)


def x86(vendor: str, family: int, model: int, name: str, flags: str, mhz: float = 0.0, cpus: int = 2) -> str:
    """/proc/cpuinfo of x86."""
    block = f"vendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: {name}\nstepping\t: 1\n"
    if mhz:
        block += f"cpu MHz\t\t: {mhz}\n"
    block += f"flags\t\t: {flags}\nbugs\t\t: spectre_v1 avx512f\n"
    return "\n".join(f"processor\t: {cpu}\n{block}" for cpu in range(cpus))


def arm(implementer: str, part: str, features: str, cpus: int = 2, board: str = "", first: int = 0) -> str:
    """/proc/cpuinfo of ARM."""
    block = f"BogoMIPS\t: 108.00\nFeatures\t: {features}\nCPU implementer\t: {implementer}\nCPU architecture: 8\n"
    block += f"CPU variant\t: 0x0\nCPU part\t: {part}\nCPU revision\t: 3\n"
    return "\n".join(f"processor\t: {cpu}\n{block}" for cpu in range(first, first + cpus)) + board


def clocks(*kilohertz: int) -> dict[str, str]:
    """The kernel's files of the highest clock of each CPU."""
    return {f"{CPUS}/cpu{cpu}/cpufreq/cpuinfo_max_freq": f"{clock}\n" for cpu, clock in enumerate(kilohertz)}


def named(name: str, highest: str = "") -> str:
    """The lines of lscpu that matter."""
    lines = f"Architecture:          x86_64\nCPU family:  6\n  Model name:          {name}\n"
    return f"{lines}  CPU max MHz:         {highest}\n  CPU min MHz: 800.0000\n" if highest else lines


I7, GOLD = "Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz", "Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz"
ALDER = "12th Gen Intel(R) Core(TM) i7-12700K"
APPLE = "hw.perflevel0.physicalcpu: 4\nhw.perflevel1.physicalcpu: 4\nhw.optional.AdvSIMD: 1\n"
GRAVITON = "fp asimd evtstrm aes fphp asimdhp asimdrdm asimddp sve asimdfhm svebf16 i8mm bf16"
KINDS = {
    "Intel with AVX2": Kind(
        x86("GenuineIntel", 6, 158, I7, AVX2, 800.06), named(I7, "4700.0000"),
        300.8, "2 cores x 4.7 GHz x 32 FLOP", "32 FLOP a cycle: AVX2 and FMA on two units", clocks(4700000, 4700000),
    ),
    "a server with AVX-512": Kind(
        x86("GenuineIntel", 6, 106, GOLD, AVX512), named(GOLD, "3600.0000"),
        460.8, "2 cores x 3.6 GHz x 64 FLOP", "64 FLOP a cycle: AVX-512 on two units",
    ),
    "a server with one unit of AVX-512": Kind(
        x86("GenuineIntel", 6, 85, "Intel(R) Xeon(R) Silver 4114 CPU @ 2.20GHz", AVX512),
        named("Intel(R) Xeon(R) Silver 4114 CPU @ 2.20GHz", "3000.0000"),
        192, "2 cores x 3 GHz x 32 FLOP", "32 FLOP a cycle: AVX-512 on one unit",
    ),
    "performance and efficient cores": Kind(
        x86("GenuineIntel", 6, 151, ALDER, AVX2, cpus=4), named(ALDER, "5000.0000"),
        441.6, "2 cores x 5 GHz x 32 FLOP + 2 cores x 3.8 GHz x 16 FLOP",
        "32 FLOP a cycle: AVX2 and FMA on two units; 16 FLOP a cycle: an efficient core's units of 128 bits",
        {"sys/devices/cpu_atom/cpus": "2-3\n", **clocks(5000000, 5000000, 3800000, 3800000)},
    ),
    "Zen 1": Kind(
        x86("AuthenticAMD", 23, 1, "AMD Ryzen 7 1700 Eight-Core Processor", AVX2), named("AMD Ryzen 7", "3000.0000"),
        96, "2 cores x 3 GHz x 16 FLOP", "16 FLOP a cycle: Zen's units of 128 bits",
    ),
    "Zen 2": Kind(
        x86("AuthenticAMD", 23, 113, "AMD Ryzen 9 3900X 12-Core Processor", AVX2),
        named("AMD Ryzen 9 3900X 12-Core Processor", "4672.0698"),
        299.012, "2 cores x 4.67 GHz x 32 FLOP", "32 FLOP a cycle: AVX2 and FMA on two units",
    ),
    "Zen 4": Kind(
        x86("AuthenticAMD", 25, 97, "AMD Ryzen 9 7950X 16-Core Processor", AVX512), "",
        376.384, "2 cores x 5.88 GHz x 32 FLOP", "32 FLOP a cycle: Zen 4's units of 256 bits", clocks(5881000, 5881000),
    ),
    "a virtual EPYC without a highest clock": Kind(
        x86("AuthenticAMD", 25, 1, "AMD EPYC 7B13", f"{AVX2} hypervisor", 2449.998), named("AMD EPYC 7B13"),
        156.8, "2 cores x 2.45 GHz x 32 FLOP",
        "32 FLOP a cycle: AVX2 and FMA on two units; 2.45 GHz is the present clock, and the highest one may be higher",
    ),
    "a virtual Xeon whose name has a clock": Kind(
        x86("GenuineIntel", 6, 85, "Intel(R) Xeon(R) CPU @ 2.80GHz", f"{AVX512} hypervisor", 2799.998),
        named("Intel(R) Xeon(R) CPU @ 2.80GHz"), 358.4, "2 cores x 2.8 GHz x 64 FLOP",
        "64 FLOP a cycle: AVX-512 on two units; "
        "2.8 GHz is the clock in the CPU's name, and the highest one may be higher",
    ),
    "Graviton 3": Kind(
        arm("0x41", "0xd40", GRAVITON), named("Neoverse-V1"),
        None, "the system reports no clock", "32 FLOP a cycle: NEON on four pipes",
        {"proc/sys/abi/sve_default_vector_length": "32\n"},
    ),
    "A64FX": Kind(
        arm("0x46", "0x001", "fp asimd evtstrm sve"), named("A64FX", "1800.0000"),
        230.4, "2 cores x 1.8 GHz x 64 FLOP", "64 FLOP a cycle: SVE of 512 bits on two pipes",
        {"proc/sys/abi/sve_default_vector_length": "64\n"},
    ),
    "Raspberry Pi 4": Kind(
        arm("0x41", "0xd08", "fp asimd evtstrm crc32 cpuid", 4, "\nModel\t\t: Raspberry Pi 4 Model B Rev 1.2"),
        named("Cortex-A72", "1500.0000"),
        48, "4 cores x 1.5 GHz x 8 FLOP", "8 FLOP a cycle: NEON on pipes of 64 bits", clocks(*[1500000] * 4),
    ),
    "Raspberry Pi 5": Kind(
        arm("0x41", "0xd0b", "fp asimd asimddp", 4), named("Cortex-A76", "2400.0000"),
        153.6, "4 cores x 2.4 GHz x 16 FLOP", "16 FLOP a cycle: NEON on two pipes",
    ),
    "large and little cores of ARM": Kind(
        arm("0x41", "0xd05", "fp asimd", 2) + "\n" + arm("0x41", "0xd0b", "fp asimd", 2, first=2),
        named("Cortex-A55", "1800.0000") + named("Cortex-A76", "2352.0000"),
        104.064, "2 cores x 2.35 GHz x 16 FLOP + 2 cores x 1.8 GHz x 8 FLOP",
        "16 FLOP a cycle: NEON on two pipes; 8 FLOP a cycle: NEON on pipes of 64 bits",
        {f"{CPUS}/cpu2/cpu_capacity": "1024", f"{CPUS}/cpu3/cpu_capacity": "1024", f"{CPUS}/cpu0/cpu_capacity": "414",
         f"{CPUS}/cpu1/cpu_capacity": "414", **clocks(1800000, 1800000, 2352000, 2352000)},
    ),
    "Apple M1": Kind(
        "", "", None, "the system reports no clock",
        "32 FLOP a cycle: NEON on four pipes, besides Apple's matrix units",
        facts={
            "commands": {"sysctl hw machdep.cpu": f"{APPLE}machdep.cpu.brand_string: Apple M1"},
            "system": {"system": "Darwin", "release": "24", "machine": "arm64", "processor": "arm"},
            "allowed": None, "physical": 8,
        },
    ),
    "AVX without FMA": Kind(
        x86("GenuineIntel", 6, 42, "Intel(R) Core(TM) i7-2600 CPU @ 3.40GHz", f"{SSE} avx"),
        named("Intel(R) Core(TM) i7-2600 CPU @ 3.40GHz", "3800.0000"),
        121.6, "2 cores x 3.8 GHz x 16 FLOP", "16 FLOP a cycle: AVX",
    ),
    "SSE alone": Kind(
        x86("GenuineIntel", 6, 15, "Intel(R) Core(TM)2 Quad CPU    Q6600  @ 2.40GHz", SSE, 1596.0),
        named("Intel(R) Core(TM)2 Quad CPU    Q6600  @ 2.40GHz", "2403.0000"),
        38.448, "2 cores x 2.4 GHz x 8 FLOP", "8 FLOP a cycle: SSE2",
    ),
    "POWER9": Kind(
        "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 3800.000000MHz", named("POWER9"),
        None, "none of its vector extensions is known here", "",
    ),
    "a container with a quota": Kind(
        x86("GenuineIntel", 6, 158, I7, AVX2, cpus=4), named(I7, "4700.0000"),
        150.4, "1 core x 4.7 GHz x 32 FLOP", "32 FLOP a cycle: AVX2 and FMA on two units",
        {"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "150000 100000\n"},
    ),
    "a CPU with a data sheet": Kind(
        x86("AuthenticAMD", 25, 1, "AMD EPYC 7763 64-Core Processor", f"{AVX2} hypervisor", 2445.43),
        named("AMD EPYC 7763 64-Core Processor"), 156.8, "data sheet of EPYC 7763, 2 of 64 cores",
        "AMD's product page: 2.45 GHz, eight channels of DDR4-3200; two multiply-adds of 256 bits a cycle",
    ),
}  # fmt: skip


def examined(name: str, root: Path, patch: pytest.MonkeyPatch, **facts: Any) -> None:
    """Make this process take a machine with such a CPU, and nothing that is wrong, for its own."""
    kind = KINDS[name]
    files = {"proc/cpuinfo": kind.cpuinfo, **kind.files}
    cpus = max(1, kind.cpuinfo.count("processor"))
    made = {"allowed": [*range(cpus)], "physical": cpus, "commands": {"lscpu": kind.lscpu}, "gpus": 0}
    pretend(MACHINES["fine"] | made | {"files": files} | kind.facts | facts, root, patch)


def found(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What doctor finds of the machine, by subject."""
    code = main(["doctor", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert code == (not document["fit"])
    return {finding["subject"]: finding for finding in document["findings"]}


@pytest.fixture(autouse=True)
def _forgotten() -> Any:
    forget()
    yield
    forget()


@pytest.mark.parametrize("name", KINDS)
def test_a_product_is_compared_with_its_computed_peak(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    examined(name, tmp_path, monkeypatch)
    findings = found(capsys)
    *_, product = (finding for subject, finding in findings.items() if subject.startswith("product"))
    kind = KINDS[name]
    assert product["speed"]["computed"] == (kind.computed and pytest.approx(kind.computed, rel=1e-4))
    assert product["state"].partition("computed")[2].lstrip(" :(").startswith(kind.how)
    assert findings.get("computed by", {"state": ""})["state"] == (kind.remark if kind.computed else "")
    if names := re.findall("Model name:(.*)", kind.lscpu):
        assert findings["CPU"]["state"].startswith(f"{squeeze(names[0])}: ")


def test_products_and_a_copy_are_timed_here() -> None:
    product, *others = doctor._speeds()
    assert product.subject == "product, 1 core"
    *_, copy = (finding for finding in others if finding.speed)
    assert copy.subject.startswith("copy, ")
    for finding in (product, copy):
        assert finding.speed["rate"] > 0.01
        assert f" {finding.speed['unit']}" in finding.state


def test_a_slow_product_names_likely_causes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {"gflops": [90, 100], "kernel": "Haswell", "blas": "openblas"}
    examined("a virtual Xeon whose name has a clock", tmp_path, monkeypatch, **facts)
    findings = found(capsys)
    one, both = findings["product, 1 core"], findings["product, 2 cores"]
    assert one["state"] == "90.0 of 179 GFLOP/s computed (1 core x 2.8 GHz x 64 FLOP), 50%"
    assert one["advice"] is None
    assert both["state"] == "100 of 358 GFLOP/s computed (2 cores x 2.8 GHz x 64 FLOP), 28%"
    assert both["speed"] == pytest.approx({"rate": 100, "unit": "GFLOP/s", "computed": 358.4, "share": 100 / 358.4})
    assert both["advice"] == (
        "slow for this machine: virtual CPUs that share a core (try half as many threads)? Haswell kernels without "
        "AVX-512 (try a newer SciPy, or MKL)? what the lines above name? heat or a power limit (watch the clock "
        "while it computes)?"
    )


@pytest.mark.parametrize(("name", "kernel"), [("a server with AVX-512", "SkylakeX"), ("Intel with AVX2", "Haswell")])
def test_a_slow_product_blames_no_kernel_that_suits_the_cpu(
    name: str, kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    examined(name, tmp_path, monkeypatch, gflops=[10, 20], kernel=kernel)
    advice = found(capsys)["product, 2 cores"]["advice"]
    assert advice.startswith("slow for this machine: what the lines above name?")


def test_a_data_sheet_counts_for_each_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "Intel(R) Core(TM)2 Duo CPU     E8500  @ 3.16GHz"
    kind = x86("GenuineIntel", 6, 23, name, SSE, 3166.0, cpus=4)
    facts = {"commands": {"lscpu": named(name)}, "allowed": [0, 1, 2, 3], "physical": 4}
    examined("SSE alone", tmp_path, monkeypatch, files={"proc/cpuinfo": kind}, **facts)
    findings = found(capsys)
    assert findings["product, 4 cores"]["speed"]["computed"] == pytest.approx(101.2)
    assert findings["copy, 4 cores"]["speed"]["computed"] == pytest.approx(21.4)
    assert findings["copy, 4 cores"]["state"] == "20.0 of 21.4 GB/s computed (data sheet of Core 2 Duo E8500), 93%"
