"""Kernels are proved in a process of their own: however it ends, this one goes on."""

import errno
import sys

import pytest
import torch

from respeed.backends._torch_fused import why_not

ANSWER = 'print(\'{{"why": {}, "errno": {}, "out_of_memory": {}}}\')'


def told_by(script: str, limit: float = 60.0) -> str | None:
    return why_not([sys.executable, "-c", script], limit)


def test_kernels_that_are_right_are_used() -> None:
    assert told_by(ANSWER.format("null", "null", "false")) is None


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (ANSWER.format('"AssertionError: mask is wrong"', "null", "false"), "AssertionError: mask is wrong"),
        ("import os; os.kill(os.getpid(), 11)", "the process that proves the kernels was ended by SIGSEGV"),
        ("raise SystemExit(3)", "the process that proves the kernels ended with status 3"),
    ],
    ids=["wrong", "crash", "no answer"],
)
def test_kernels_that_are_not_right_are_not_used_and_it_is_said_why(script: str, why: str) -> None:
    assert told_by(script) == why


def test_a_kernel_that_never_ends_is_not_waited_for() -> None:
    assert told_by("import time; time.sleep(60)", 0.2) == "the kernels were not proved within 0.2 s"


def test_want_of_room_says_nothing_of_the_kernels() -> None:
    with pytest.raises(OSError, match="No space left"):
        told_by(ANSWER.format('"OSError: full"', errno.ENOSPC, "false"))
    with pytest.raises(torch.OutOfMemoryError):
        told_by(ANSWER.format('"OutOfMemoryError: 2 MiB"', "null", "true"))
    with pytest.raises(MemoryError):
        told_by("import os; os.kill(os.getpid(), 9)")
