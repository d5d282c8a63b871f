"""Records of machines that measured everything a paper has, to draw figures of."""

from typing import Any

from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import load_profiles
from respeed.paths import RoundId, description_path, round_path
from respeed.records.store import write_json
from respeed.schedule.spec import cases_of
from tests.conftest import MakeRecord, description

CPU = ("openblas-1", "openblas-all", "torch-1", "torch-all")
ALL = (*CPU, "gpu", "gpu-tf32", "gpu-bf16", "gpu-fp16")
# FLOP a second.
RATES = dict(zip(ALL, (1.0e11, 1.8e11, 1.2e11, 2.2e11, 2e13, 5e13, 9e13, 9.1e13), strict=True))
DOUBLE = ("openblas-1-fp64", "openblas-all-fp64")
RATES |= dict(zip(DOUBLE, (5e10, 9e10), strict=True))


def write_machine(
    make_record: MakeRecord, profiles: tuple[str, ...], *, machine: str = "box", label: str = "", rounds: int = 6,
    speed: float = 1.0, paper: str = "raina2009",
) -> None:  # fmt: skip
    """Write all rounds of a machine in the working directory; `label` stands in front of every row's. `speed` is that
    of all rows over others' machines."""
    known = load_profiles()
    write_json(description_path(machine, False), description())
    for one in load_papers([paper]).values():
        for experiment in one.experiments.values():
            for name in profiles:
                profile = known[name]
                runs = [case for case in cases_of(experiment, profile, False) if case.name not in experiment.sources]
                for index in range(1, rounds + 1 if runs else 1):
                    made = [
                        _case(make_record, case, speed * RATES[name], index, place) for place, case in enumerate(runs)
                    ]
                    record = make_record(
                        [1.0], index=index, profile=name, machine=machine, architecture=profile.architecture,
                        device=profile.device, precision=profile.precision, peak=1.5 * RATES[name],
                    )  # fmt: skip
                    record["cases"] = made
                    record["id"] |= {"paper": paper, "experiment": experiment.name}
                    told = {"package": profile.package, "backend": profile.backend}
                    record["profile"] |= told | {"label": label + profile.label}
                    write_json(round_path(RoundId(machine, paper, experiment.name, name, index)), record)


def _case(make_record: MakeRecord, case: Any, rate: float, index: int, place: int) -> dict[str, Any]:
    """Costs what its sizes say, each time a little else."""
    work = 2e9 * (1 + place)
    made: dict[str, Any] = make_record([work / rate * (1 + 0.01 * index)] * 2, case=case.name)["cases"][0]
    counted = not case.workload.startswith("sparse")
    return made | {
        "workload": case.workload,
        "parameters": dict(case.parameters),
        "flops": work if counted else None,
        "traffic_bytes": 1e6 if counted else None,
    }


def read_energy(record: dict[str, Any], watts: dict[str, float]) -> None:
    """Put down what each domain used in every block."""
    record["provenance"]["energy"] = {"reason": None}
    for case in record["cases"]:
        for block in case["blocks"]:
            block["joules"] = {domain: power * sum(block["sample_seconds"]) for domain, power in watts.items()}
