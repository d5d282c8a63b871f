"""respeed doctor: is this machine fit to measure now?"""

import importlib.metadata
import importlib.util

from tabulate import tabulate

from respeed.backends import make_backend, scipy_backend
from respeed.errors import NotMeasurable
from respeed.machine.cpu import usable_cores
from respeed.machine.doctor import Finding, examine_machine
from respeed.measure.bench import make_bench
from respeed.measure.lock import Holder, who_measures
from respeed.protocol import REAL, quiet_probe

# Probes of a few milliseconds each: a second of what a round would see.
PROBES = 200
# With more than this share of its probes slow, a machine would have most of its blocks discarded.
MAX_SLOW_SHARE = 0.2


def examine() -> bool:
    """Print what was found and what to do about it; True if the machine is fit."""
    holder = who_measures()
    findings = [*examine_machine(), _jax(), _lock(holder), *_steadiness(holder)]
    rows = [[finding.subject, finding.found, finding.advice or "–"] for finding in findings]
    print(tabulate(rows, ["looked at", "found", "do"], disable_numparse=True))
    fit = not any(finding.advice for finding in findings)
    print(
        "\nfit to measure"
        if fit
        else "\nnot quite fit to measure: see the last column; what is disturbed will be marked"
    )
    return fit


def _jax() -> Finding:
    """An optional package: nothing is amiss where it is not there."""
    there = importlib.util.find_spec("jax") is not None
    return Finding("JAX", f"{importlib.metadata.version('jax')}, for rows that are named" if there else "not installed")


def _lock(holder: Holder | None) -> Finding:
    if holder and holder.pid:
        return Finding("respeed", f"another measurement is running: {holder}", "wait for it")
    if holder:
        return Finding("respeed", f"the lock of measurements is held: {holder}", "wait for it; only root can name it")
    return Finding("respeed", "no other measurement is running")


def _steadiness(holder: Holder | None) -> list[Finding]:
    if holder:  # a second of products would disturb it
        why = "not looked at while another measurement is running"
        return [Finding("reference probe", why), Finding("threads", why)]
    cores = len(usable_cores())
    try:
        backend = make_backend(scipy_backend(), device="cpu", precision="fp32", threads=cores, seed=0)
    except NotMeasurable as reason:
        return [Finding("reference probe", f"not looked at: {reason}")]
    bench, proof = make_bench(backend)
    seconds = [bench.probe.seconds() for _ in range(PROBES)]
    quiet = quiet_probe(seconds)
    slow = sum(one > REAL.max_probe_ratio * quiet for one in seconds) / len(seconds)
    ran = proof["threads_ran"]
    return [
        Finding(
            "reference probe",
            f"{slow:.0%} of {PROBES} products more than {REAL.max_probe_ratio - 1:.0%} slower than a quiet one",
            "something disturbs the cores: measure later, or on a quieter host" if slow > MAX_SLOW_SHARE else "",
        ),
        Finding(
            "threads",
            f"{'unknown' if ran is None else ran} ran, {cores} asked",
            "check OMP_NUM_THREADS and its like" if ran not in (None, cores) else "",
        ),
    ]
