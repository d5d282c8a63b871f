"""A step on some of a row's threads alone; of the workloads whose names end in _threads."""

from contextlib import AbstractContextManager

from respeed.backends import BackendContract, Step
from respeed.model.paper import Case


def limit_threads(backend: BackendContract, case: Case) -> AbstractContextManager[None]:
    """To be entered for each step; NotMeasurable where there are fewer threads, before anything takes memory."""
    return backend.limited(int(case.parameters["threads"]))


def limited_step(limit: AbstractContextManager[None], step: Step) -> Step:
    """`step` within the limit."""

    def step_limited() -> None:
        with limit:
            step()

    return step_limited
