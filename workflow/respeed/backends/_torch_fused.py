"""Which way between the products a device takes: fused kernels where they can be had and are proved, else torch's.

A proof compiles each kernel, runs it, and compares it with torch's operations, first in a process of its own. A kernel
that reads where nothing is leaves its process without the device, one that hangs never ends, and a compiler may crash:
none of it may happen where cases are measured. What was compiled there is found in Triton's cache here, with a file
that says that it was proved: the next process proves it once more, but not in another one first, which takes seconds.

`python -m respeed.backends._torch_fused DEVICE DTYPE` is that process. It prints one line of JSON: why the kernels
cannot be used (null where they can), the number of the system's error, whether it was want of memory.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from respeed.backends._torch import is_out_of_memory
from respeed.backends._torch_between import ByTorch, Scratch
from respeed.errors import DISK, is_of_the_disk
from respeed.machine.accelerators import accelerator_driver
from respeed.machine.process import die_first_for_memory, die_with_parent, private_folder, private_stdout

# How far two orders of rounding may be apart, relative and absolute.
NEAR = {torch.float32: (1e-4, 1e-5), torch.bfloat16: (3e-2, 1e-2), torch.float16: (4e-3, 2e-3)}
# Columns of the arrays that kernels are proved on: of 16 numbers at once, and of any; one piece of a row, and several.
COLUMNS = (544, 531)
Call = tuple[str, list[Any]]


def prove(fused: ByTorch, plain: ByTorch, device: torch.device, dtype: torch.dtype) -> None:
    """Every variant of every kernel runs once, and agrees with torch's operations; AssertionError if one does not."""
    random = torch.Generator().manual_seed(1)
    relative, absolute = NEAR[dtype]
    for columns in COLUMNS:
        for name, arguments in _calls(columns, dtype, random, device):
            # With arrays of its own each: most are written to.
            mine, theirs = ([_again(argument) for argument in arguments] for _ in range(2))
            getattr(fused, name)(*mine)
            getattr(plain, name)(*theirs)
            for found, wanted in zip(mine, theirs, strict=True):
                if isinstance(wanted, Tensor):
                    torch.testing.assert_close(found, wanted, rtol=relative, atol=absolute, msg=f"{name} is wrong")


def _again(argument: Any) -> Any:
    return argument.clone() if isinstance(argument, Tensor) else argument


def _calls(columns: int, dtype: torch.dtype, random: torch.Generator, device: torch.device) -> Iterator[Call]:
    """The kernels by name, with what they are given: drawn on the host, so that it is the same everywhere."""

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=random).to(device, dtype)

    stack, rows = (2, 3, columns), (3, columns)
    draws = torch.rand(stack, generator=random).to(device)
    for bias in (None, normal(2, 1, columns)):
        yield "sigmoid", [normal(*stack), bias, -1.0]
        # Draws that no rounding brings to the other side of a probability.
        yield "sample", [normal(*stack), bias, draws.round(), normal(*stack), -1.0]
    yield "mask", [normal(*stack), draws, 0.5, normal(*stack)]
    labels = torch.randint(columns, (3,), generator=random).to(device)
    yield "softmax_error", [normal(*rows), labels, normal(*rows), normal(3, 1)]
    if dtype == torch.float32:
        yield from _sparse(columns, normal)


def _sparse(columns: int, normal: Callable[..., Tensor]) -> Iterator[Call]:
    rows = (3, columns)
    going = torch.ones_like(normal(3, 1))
    going[1] = 0.0
    yield "coordinate_step", [normal(*rows), normal(*rows), normal(columns).abs() + 0.5, 0.3, going, normal(*rows)]
    arrays = [0.1 * normal(*rows) for _ in range(4)]  # small: sums of large ones differ by what is added to what first
    yield "line_search", [*arrays, 0.3, (1.0, 0.1, 0.01), 1e-3, 1.0 + normal(3, 1).abs(), going, 1e-2]
    yield "gradient_step", [normal(*rows), normal(*rows), normal(*rows), 0.3, normal(*rows)]


def in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"


def main(name: str, dtype: str) -> None:
    answers = private_stdout()
    die_with_parent()
    die_first_for_memory()
    torch.set_grad_enabled(False)
    told: dict[str, Any] = {"why": None, "errno": None, "out_of_memory": False}
    try:
        from respeed.backends._torch_triton import ByTriton

        device = torch.device(name)
        if device.index is not None:
            torch.cuda.set_device(device)
        prove(ByTriton(scratch_anew), ByTorch(scratch_anew), device, getattr(torch, dtype))
        torch.cuda.synchronize(device)
    except Exception as error:  # of any library: it is told
        number = error.errno if isinstance(error, OSError) else None
        told = {"why": in_words(error), "errno": number, "out_of_memory": is_out_of_memory(error)}
    answers.write(json.dumps(told) + "\n")


def scratch_anew(like: Tensor, dtype: torch.dtype | None = None, name: str = "") -> Tensor:
    return torch.empty(like.shape, dtype=dtype or like.dtype, device=like.device)


# Some twenty kernels are compiled the first time; after that torch starts, and little more.
LIMIT_SECONDS = 300.0


@cache
def proved_apart(device: torch.device, dtype: torch.dtype) -> str | None:
    """Why the kernels cannot be used there; None if they can. What says nothing of them is raised: OSError of a full
    disk, OutOfMemoryError of the device, MemoryError."""
    prove = ["-m", "respeed.backends._torch_fused", str(device), str(dtype).removeprefix("torch.")]
    return why_not([sys.executable, "-P", *prove], LIMIT_SECONDS)


def why_not(command: Sequence[str], limit: float) -> str | None:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return f"the kernels were not proved within {limit:g} s"
    answers = done.stdout.splitlines()
    if done.returncode == -signal.SIGKILL:  # by nobody but the kernel
        raise MemoryError("the process that proves the kernels was killed, most likely for want of memory")
    if not answers:
        return f"the process that proves the kernels {_ending(done.returncode)}"
    told: dict[str, Any] = json.loads(answers[-1])
    if told["errno"] in DISK:
        raise OSError(told["errno"], os.strerror(told["errno"]))
    if told["out_of_memory"]:
        raise torch.OutOfMemoryError(told["why"])
    why: str | None = told["why"]
    return why


def _ending(code: int) -> str:
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"


def between_for(device: torch.device, dtype: torch.dtype, scratch: Scratch) -> ByTorch:
    """Kernels are compiled and compared with torch's operations here: never within a step, a graph or a time.

    Want of memory and a full disk are raised: they say nothing of the kernels, and rounds would differ for them.
    """
    if device.type != "cuda":
        return ByTorch(scratch)
    if torch.version.hip or dtype not in NEAR:
        return ByTorch(scratch, "fused for NVIDIA in fp32 and lower precision")
    if os.environ.get("TRITON_INTERPRET", "0") not in {"", "0"}:
        return ByTorch(scratch, "TRITON_INTERPRET is set")
    _keep_to_ourselves()
    try:
        from respeed.backends._torch_triton import ByTriton

        proof = _proof(device, dtype)
        # What a faulty kernel leaves of a process's device is of no use to anyone.
        if not proof.exists() and (why := proved_apart(device, dtype)):
            return ByTorch(scratch, why)
        fused = ByTriton(scratch)
        _proved_here(device, dtype)
        proof.touch()
    except Exception as error:  # no Triton, no C compiler, a GPU that it does not know, a wrong number
        if is_of_the_disk(error) or isinstance(error, MemoryError) or is_out_of_memory(error):
            raise
        return ByTorch(scratch, in_words(error))
    return fused


@cache
def _keep_to_ourselves() -> None:
    """What Triton compiled is loaded from where it is kept, here and in the process that proves kernels: from a folder
    that no other user could have put anything into."""
    home = os.environ.get("TRITON_HOME") or os.path.expanduser("~")
    wished = os.environ.get("TRITON_CACHE_DIR") or os.path.join(home, ".triton", "cache")
    os.environ["TRITON_CACHE_DIR"] = str(private_folder("triton", Path(wished)))


def _proof(device: torch.device, dtype: torch.dtype) -> Path:
    """Which file says that the process of its own has proved these kernels: of this text, by these versions, on such a
    device. It lies beside what that compiled, and goes with it."""
    import triton

    from respeed.backends import _torch_between, _torch_triton, _triton_kernels

    texts = [Path(str(module.__file__)).read_text() for module in (_torch_between, _torch_triton, _triton_kernels)]
    of = torch.cuda.get_device_properties(device)
    versions = torch.__version__, torch.version.cuda, triton.__version__, accelerator_driver(), sys.version
    facts = [dtype, *versions, of.name, of.major, of.minor, Path(__file__).read_text(), *texts]
    digest = hashlib.sha256(json.dumps(list(map(str, facts))).encode()).hexdigest()
    return Path(os.environ["TRITON_CACHE_DIR"], f"respeed-proved-{digest[:32]}")


@cache
def _proved_here(device: torch.device, dtype: torch.dtype) -> None:
    """Once a process: what is compiled stays."""
    from respeed.backends._torch_triton import ByTriton

    prove(ByTriton(scratch_anew), ByTorch(scratch_anew), device, dtype)
    torch.cuda.synchronize(device)


if __name__ == "__main__":
    main(*sys.argv[1:])
