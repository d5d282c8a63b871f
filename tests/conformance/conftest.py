"""What a machine, or a backend, cannot run is skipped with the reason that the tables would show: if it is known.

Any other reason is a failure, or else a mistake by which nothing could be measured would pass.
"""

import re
from collections.abc import Generator

import pytest

from respeed.errors import NotMeasurable
from tests.conformance.programs import Place

# Of which workload, on which backend and device, as patterns; and the reason.
KNOWN = [
    ("copies", ".* cpu", "nothing to copy"),
    ("copies", "torch (xpu|mps)", "torch has no pinned memory"),
    ("sort|spmv", ".* cpu", "numpy uses one thread for this"),
    ("sort", "torch cpu", "torch uses one thread for this"),
    ("small_step", ".* cpu", "an operation is finished when it returns"),
    ("small_step", "torch (cuda|xpu|mps)", "an accelerator's threads are not its cores"),
    ("small_step", "torch (xpu|mps)", "this device has no graphs"),
    ("convnet_replicas|data_parallel", "torch cuda", "needs [0-9]+ GPUs"),
    ("convnet_replicas|data_parallel", "torch (xpu|mps)", "torch.distributed has no library"),
    (".*", "jax .*|torch (cuda|xpu|mps)", "the threads of this library cannot be limited"),
]  # fmt: skip


def is_known(item: pytest.Item, reason: str) -> bool:
    """Return whether a test's place cannot run its case for a reason that is known."""
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    place, case = parameters.get("place", Place("torch", "cuda")), parameters.get("case")
    facts = case.workload if case else "", f"{place.backend} {place.device}"
    return any(
        re.fullmatch(workload, facts[0]) and re.fullmatch(row, facts[1]) and re.match(text, reason)
        for workload, row, text in KNOWN
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    try:
        yield
    except NotMeasurable as reason:
        if not is_known(item, str(reason)):
            raise
        pytest.skip(str(reason))


@pytest.fixture
def provokes() -> None:
    """For tests that ask a device for what it must refuse: the pretended one does not fail them for it."""
