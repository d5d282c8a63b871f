"""The workloads' own cases: counts, the numbers that they compute on, torch's operations, and what checks compare.

Records of two versions compare if these stay.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from respeed.backends.torch import TorchOnCpu
from respeed.inputs.registry import runs
from respeed.model import Case
from respeed.workloads import make_workload
from respeed.workloads.arrays import Zeros
from tests.conformance.programs import ODD, build, case_of, make, name_of, steps
from tests.known import WRITE, assert_known

KNOWN = Path(__file__).with_name("inputs.txt")
# The steps of these run in other processes, or not without an accelerator.
ELSEWHERE = {"copies", "data_parallel", "convnet_replicas", "program"}
# A net that learns, and one of each kind of layers that only differentiates.
NETS = [case_of("convnet", "smoke"), case_of("convnet", "odd", network="resnet18", gradients="parameters-and-images")]
FACTS = [
    "learned", "state", "cycled", "handed_on", "frameworks", "precisions", "products", "allocates", "one_thread",
    "by_autograd", "captured", "whole_pass", "read", "threads",
]  # fmt: skip
CASES = [*(case for case in ODD if case.workload != "convnet"), *NETS]
# A number that was computed, and may be off in its last digits elsewhere.
COMPUTED = re.compile(r"-?\d\.\d+e[-+]\d\d")
# Rounding decides how many iterations these take: what they compute is the same but for so much of its largest numbers.
ROUNDED = {"sparse_parallel": 0.01, "sparse_published": 0.1}


def facts_of(case: Case) -> Iterator[str]:
    """Yield the case's counts, every array that it draws, and every comparison of its check."""
    one = make_workload(case)
    yield f"flops {one.flops() or 0:.0f}, traffic {one.traffic_bytes():.0f}, memory {one.memory_bytes():.0f}"
    facts = {name: getattr(one, name) for name in FACTS} | {name: round(part, 6) for name, part in one.parts().items()}
    yield from (f"{name} {value}" for name, value in facts.items() if value and len(str(value)) < 200)
    for name, array in one.arrays(np.random.default_rng(1)).items():
        yield f"{name}: {array.shape}" if isinstance(array, Zeros) else f"{name}: {described(array)}"
    if case.workload not in ELSEWHERE:
        if runs(case.workload, "torch", "fp32"):
            here, elsewhere = (operations(case, in_pieces) for in_pieces in (True, False))
            yield f"torch: {here}" + f"; on an accelerator: {elsewhere}" * (here != elsewhere)
        framework = "numpy" if runs(case.workload, "numpy", "fp32") else "torch"
        for name, (found, expected, *size) in steps(build(make(framework), case), 1).check().items():
            assert np.shape(found) == np.shape(expected)
            yield f"{name} = {described(expected)}" + (f" over {size[0]:.3e}" if size else "")


def operations(case: Case, in_pieces: bool) -> str:
    """Return torch's operations in two steps and before, and how many of each where no rounding decides that."""
    made, counted = TorchOnCpu("fp32", 1, 1), Counted()
    made.in_pieces = in_pieces
    with torch.backends.cudnn.flags(allow_tf32=in_pieces), counted:
        steps(build(made, case), 2)
    is_known = case.workload not in ROUNDED
    return ", ".join(f"{name} {count}" if is_known else name for name, count in sorted(counted.names.items()))


class Counted(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names = Counter[str]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.update([] if func.is_view else [func.overloadpacket.__name__])
        return func(*args, **(kwargs or {}))


def described(given: Any) -> str:
    array = np.asarray(given)
    values = array.view(array.real.dtype)
    numbers = [values.min(), values.max(), values.mean(dtype=float), values.flat[0]]
    kind = "" if array.dtype in (np.float32, np.float64) else f"{array.dtype} "
    return f"{kind}{array.shape} " + " ".join(f"{number:.3e}" for number in numbers if values.any())


def read_known() -> dict[str, str]:
    return dict(re.findall(r"^== (\S+)\n(.*?)\n\n", KNOWN.read_text("utf-8"), re.DOTALL | re.MULTILINE))


def assert_near(case: Case, now: str, before: str) -> None:
    """The words are the same, and the numbers but for rounding."""
    assert COMPUTED.sub("#", now).splitlines() == COMPUTED.sub("#", before).splitlines()
    for mine, theirs in zip(now.splitlines(), before.splitlines(), strict=True):
        numbers, right = ([float(number) for number in COMPUTED.findall(line)] for line in (mine, theirs))
        # The mean of an array may nearly cancel: it is as exact as the smallest and the largest number.
        share = ROUNDED.get(case.workload, 1e-5) if " = " in mine else 1e-5
        assert numbers == pytest.approx(right, rel=1e-3, abs=share * max(map(abs, right[:2]), default=0)), mine


def known_or_new(case: Case, before: str) -> str:
    """Return what is known of a case, or what is so now if that is something else."""
    now = "\n".join(facts_of(case))
    try:
        assert_near(case, now, before)
    except AssertionError:
        return now
    return before


@pytest.mark.known
def test_the_known_inputs_are_of_every_case() -> None:
    known, cases = read_known(), {name_of(case): case for case in CASES}
    if WRITE in os.environ:
        known = {name: known_or_new(case, known.get(name, "")) for name, case in cases.items()}
    assert_known(KNOWN, "".join(f"== {name}\n{known.get(name, '')}\n\n" for name in sorted(cases)))


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_case_has_the_known_inputs_and_checks(case: Case) -> None:
    known = read_known()
    if name_of(case) not in known:
        pytest.skip("nothing is known of it yet: ./run python -m tests.known tests/conformance writes it down")
    assert_near(case, "\n".join(facts_of(case)), known[name_of(case)])
