"""The measuring process: reads the specifications of its rounds from standard input, writes a JSON line an event.

Run as `python -m respeed.measure.child` by `respeed.measure.parent`, which sets its environment. Imports numerical
libraries only after it has bound itself to its cores.
"""

import gc
import json
import sys
from typing import Any, TextIO

from respeed.errors import is_of_the_disk, refusal_anywhere
from respeed.machine.process import allowed_cpus, bind, die_first_for_memory, die_with_parent, private_stdout

# How often a case that was disturbed is measured again at the end of its turn. On a shared machine one more attempt
# mended 57 to 95 % of them.
MORE_ATTEMPTS = 2
# All that this process writes to a disk.
KERNELS = "what is kept of compiled kernels"


def main() -> None:
    """Measure the rounds that standard input describes, all of one profile."""
    events = private_stdout()
    die_with_parent()
    die_first_for_memory()
    try:
        _run(sys.stdin.read(), events)
    except OSError as error:
        if (line := refusal_anywhere(error, KERNELS)) is None:
            raise
        events.write(json.dumps({"event": "refused", "line": str(line)}) + "\n")


def _run(text: str, events: TextIO) -> None:
    from respeed.schedule.spec import order_from_json

    if not text.endswith("}"):  # whoever started this process was stopped before it had said what to measure
        return
    specs, probes = order_from_json(text)
    spec = specs[0]
    bind(spec.cpus)

    from respeed.backends import make_backend
    from respeed.errors import NotMeasurable
    from respeed.machine.energy import energy_counters
    from respeed.machine.software import blas_libraries, package_versions, telling_environment
    from respeed.measure.bench import make_bench, shares_cores, thread_complaint
    from respeed.measure.case import is_disturbed, measure_case
    from respeed.measure.ceilings import measure_ceilings
    from respeed.measure.seeds import derive_seed
    from respeed.timing.energy import make_meter

    def emit(event: str, **facts: Any) -> None:
        events.write(json.dumps({"event": event, **facts}, allow_nan=False) + "\n")
        events.flush()

    try:
        backend = make_backend(
            spec.profile.backend,
            device=spec.profile.device,
            precision=spec.profile.precision,
            threads=spec.threads,
            seed=derive_seed(spec, "draws"),
        )
        described: dict[str, Any] = dict(backend.describe())
        meter, energy = make_meter(*energy_counters(spec.profile.device, described.get("pci")))
        bench, threads_proof = make_bench(backend, probes, meter)
        ceilings = measure_ceilings(backend)
    except NotMeasurable as reason:
        emit("not-run", reason=str(reason))
        return
    except Exception as error:  # such as a device whose memory another program has taken
        if is_of_the_disk(error):
            raise
        emit("not-run", reason=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
        return
    emit(
        "ready",
        backend=described,
        energy=energy,
        versions=package_versions(),
        libraries=blas_libraries(),
        environment=telling_environment(),
        affinity=allowed_cpus() or None,
        threads_proof=threads_proof,
    )
    if complaint := thread_complaint(spec, threads_proof, is_shared=shares_cores(backend)):
        emit("not-run", reason=complaint)
        return
    emit("ceilings", **ceilings)
    # Each case collects what the last one left: what the libraries loaded need not be gone through every time.
    gc.freeze()
    disturbed = []
    for number, spec in enumerate(specs):
        for index, case in enumerate(spec.cases):
            emit("begin", experiment=spec.id.experiment, case=case.name, again=False)
            facts = measure_case(spec, index, bench)
            emit("case", facts=facts)
            disturbed.append((number, index, facts))
    for _ in range(MORE_ATTEMPTS):
        # By now there are more probes to compare with, and who disturbed may be gone.
        disturbed = [one for one in disturbed if is_disturbed(specs[one[0]], one[2], bench)]
        for place, (number, index, _) in enumerate(disturbed):
            spec = specs[number]
            emit("begin", experiment=spec.id.experiment, case=spec.cases[index].name, again=True)
            facts = measure_case(spec, index, bench)
            emit("again", round=number, facts=facts)
            disturbed[place] = (number, index, facts)


if __name__ == "__main__":
    main()
