"""What a measuring process is asked for in tests: a table of a paper at tiny sizes, on a row of this machine."""

from typing import Any

from respeed.inputs.machines import load_profile
from respeed.inputs.papers import load_papers
from respeed.measure.order import Job, Order
from respeed.protocol import SMOKE
from respeed.schedule.rows import find_rows
from respeed.schedule.work import cases_of, source_of


def order_of(profile: str = "openblas-1", table: str = "rbm", paper: str = "raina2009", **changed: Any) -> Order:
    """Return an order for the first round of all cases; with other facts than this machine and its row have."""
    rows, _ = find_rows({profile: load_profile(profile)})
    row = rows[profile]
    experiment = load_papers([paper])[paper].at_tiny_sizes().experiments[table]
    cases = tuple(
        Job(case, 1, source_of(case, row.profile.architecture), experiment.smoke_cases)
        for case in cases_of(experiment, row.profile)
    )
    made = {"threads": row.threads, "cpus": row.cpus, "cases": cases, "timing": SMOKE, "seed": 1, "probes": {}}
    return Order(row.profile, **made | changed)


def name_of(facts: Any) -> str:
    """Return what the case of an RBM is called, by its facts in a record."""
    parameters = facts["parameters"] if isinstance(facts, dict) else facts.parameters
    return f"{parameters['visible']}x{parameters['hidden']}"
