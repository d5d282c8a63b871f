"""Hardware sheets of machines that tests make up."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from respeed.analysis.columns import make_frame
from respeed.analysis.hardware_sheet import make_rates, make_scaling
from respeed.paths import hardware_path
from respeed.records.models import PAPER
from respeed.records.store import write_record
from tests.conftest import HARDWARE

MakeRecord = Callable[..., dict[str, Any]]
ACCELERATOR = "NVIDIA Something 80GB"
SIZES = ((576, 1024), (1024, 4096))


def hardware_sheet(
    make_record: MakeRecord,
    counts: Sequence[int] = (1, 2),
    *,
    machine: str = "box",
    passes: int = 3,
    efficiency: float = 0.9,
    gpu: bool = False,
    absent: Sequence[dict[str, Any]] = (),
    smoke: bool = False,
) -> dict[str, Any]:
    """A sheet whose steps take 10 ms and 80 ms on one thread, each pass a little more, and on n threads 1 / n of that
    over the efficiency."""
    rounds = []
    for index in range(1, passes + 1):
        for threads in counts:
            faster = threads * efficiency if threads > 1 else 1.0
            cases = []
            for (V, H), seconds in zip(SIZES, (0.01, 0.08), strict=True):
                sizes = {"visible": V, "hidden": H, "batch": 192}
                cases += [(f"{V}x{H}", "rbm", sizes, seconds / faster, 1e9)]
                cases += [(f"{V}x{H}", "cd1_products", sizes, 0.9 * seconds / faster, 1e9)]
            if threads in (1, max(counts)):
                cases.append(("1024x1024", "matmul", {"m": 1024, "k": 1024, "n": 1024}, 0.02 / faster, 2e9))
                cases.append(("memory", "memory_copy", {"length": 2**26}, 0.05, None))
                how = "spread" if threads > 1 else "waited"
                cases.append((how, "small_step", {"count": 100, "how": how}, 1e-4, None))
            rounds.append(_round(make_record, machine, "openblas", "cpu", "fp32", threads, index, cases, smoke))
    if gpu:
        cases = [
            (f"{side}x{side}", "matmul", {"m": side, "k": side, "n": side}, 0.01, 2.0 * side**3)
            for side in (4096, 8192)
        ]
        cases.append(("memory", "memory_copy", {"length": 2**28}, 0.001, None))
        cases += [
            (f"{way}-{memory}", "copies", {"length": 2**26, "direction": way, "memory": memory}, 0.01, None)
            for way in ("to", "from")
            for memory in ("pinned", "pageable")
        ]
        cases += [(how, "small_step", {"count": 100, "how": how}, 1e-4, None) for how in ("waited", "queued", "graph")]
        rounds.append(_round(make_record, machine, "torch", "cuda", "fp32", max(counts), 1, cases, smoke))
        rounds[-1]["provenance"]["backend"]["accelerator"] = ACCELERATOR
    return {
        "machine": machine, "smoke": smoke, "digest": "0" * 16,
        "started": "2026-01-01T00:00:00+00:00", "wall_seconds": 60.0,
        "provenance": {"machine": HARDWARE, "commit": "unknown", "versions": {}},
        "memory": {"caches": {"L1": 98304, "L2": 2**22}, "accelerators": {}}, "rounds": rounds, "absent": list(absent),
    }  # fmt: skip


def rates_of(*sheets: dict[str, Any]) -> pd.DataFrame:
    return make_frame((row for sheet in sheets for row in make_rates(sheet)), "rates")


def scaling_of(*sheets: dict[str, Any]) -> pd.DataFrame:
    return make_frame((row for sheet in sheets for row in make_scaling(sheet)), "scaling")


def no_gpu() -> dict[str, Any]:
    """What a sheet says of a device that is not there."""
    profile = {"name": "torch-cuda-fp32-2", "package": "PyTorch", "backend": "torch", "device": "cuda"}
    case = {"name": "4096x4096", "workload": "matmul", "parameters": {"m": 4096, "k": 4096, "n": 4096}}
    return {"profile": profile | {"precision": "fp32"}, "threads": 2, "cases": [case], "reason": "no CUDA device"}


def write_sheet(sheet: dict[str, Any]) -> None:
    """Under the working directory, where the machine's lies."""
    write_record(hardware_path(sheet["machine"], sheet["smoke"]), sheet)


def _round(
    make_record: MakeRecord, machine: str, backend: str, device: str, precision: str, threads: int, index: int,
    cases: list[Any], smoke: bool,
) -> dict[str, Any]:  # fmt: skip
    name = f"{backend}-{device}-{precision}-{threads}"
    record = make_record([1.0], index=index, profile=name, machine=machine, device=device, smoke=smoke)
    package = {"openblas": "OpenBLAS", "torch": "PyTorch"}[backend]
    record["id"] |= {"paper": PAPER, "experiment": PAPER}
    record["profile"] |= {"package": package, "backend": backend, "precision": precision}
    record["threads"] = threads
    record["provenance"] = {"backend": {"package": package, "library": "OpenBLAS" if device == "cpu" else "cuBLAS"}}
    record["cases"] = [
        make_record([seconds * (1 + 0.01 * index)] * 3, case=name)["cases"][0]
        | {"workload": workload, "parameters": parameters, "flops": flops, "traffic_bytes": 4.0 * 2**28}
        for name, workload, parameters, seconds, flops in cases
    ]
    return record
