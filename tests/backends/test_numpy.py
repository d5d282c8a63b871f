"""NumPy's rows: which library SciPy computes with, and those that are not here, as far as they can be tried."""

import threading
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy

import respeed.backends.numpy as backend
from respeed.backends import make_backend
from respeed.errors import NotMeasurable
from respeed.machine import software
from tests.conformance.programs import build, case_of, is_right


def make(threads: int = 1) -> Any:
    return make_backend("numpy", device="cpu", precision="fp32", threads=threads, seed=1)


class Library:
    """A library as threadpoolctl shows it, which keeps its number of threads for the process or for each thread."""

    def __init__(self, by_thread: bool = False) -> None:
        self.numbers, self.by_thread = defaultdict[int, int](lambda: 2), by_thread

    def _whose(self) -> int:
        return threading.get_ident() * self.by_thread

    def set_num_threads(self, number: int) -> None:
        self.numbers[self._whose()] = number

    def info(self) -> dict[str, Any]:
        return {"num_threads": self.numbers[self._whose()], "version": "2025.1", "threading_layer": "intel"}


def pretend(monkeypatch: pytest.MonkeyPatch, name: str, library: Library | None = None) -> None:
    """As where SciPy computes with a library, which threadpoolctl finds or not."""
    monkeypatch.setattr(backend, "scipy_library", lambda: name)
    monkeypatch.setattr(backend, "controller", lambda _: library)
    monkeypatch.setattr(backend, "threadpool_limits", lambda threads: None)


REASONS: list[tuple[str, Library | None, bool, str]] = [
    ("netlib", None, True, "SciPy computes with netlib here, whose threads cannot be set"),
    ("mkl", None, True, "threadpoolctl does not find this SciPy's MKL, to set its threads"),
    ("mkl", Library(), False, "this SciPy's MKL takes sizes of 64 bits; calls here have 32"),
    ("accelerate", None, True, "needs macOS 15 or later to set Accelerate's threads"),
]


@pytest.mark.parametrize(("name", "library", "takes_int", "reason"), REASONS)
def test_what_cannot_be_steered_is_a_reason(
    name: str, library: Library | None, takes_int: bool, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, name, library)
    monkeypatch.setattr(backend, "TAKES_INT", takes_int)
    monkeypatch.setattr(backend.Accelerate, "FRAMEWORK", "/nowhere")
    monkeypatch.setenv("VECLIB_MAXIMUM_THREADS", "1")
    with pytest.raises(NotMeasurable, match=f"^{reason}$"):
        make()


@pytest.mark.parametrize("by_thread", [True, False])
def test_each_thread_multiplies_alone(by_thread: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    library, seen, meeting = Library(by_thread), list[int](), threading.Barrier(2, timeout=60)
    pretend(monkeypatch, "mkl", library)
    made = make(2)
    made.each([0, 1], lambda item: (meeting.wait(), seen.append(made.describe()["threads_set"]), meeting.wait()))
    assert seen == [1, 1]
    assert made.describe().items() >= {"library": "MKL", "version": "2025.1", "threads_set": 2}.items()


def test_accelerate_takes_its_threads_and_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library behind it is another here; all that lies between is Accelerate's."""
    told: list[int] = []
    framework = SimpleNamespace(BLASSetThreading=told.append)
    monkeypatch.setattr(backend, "ctypes", SimpleNamespace(CDLL=lambda _: framework))
    monkeypatch.setenv("VECLIB_MAXIMUM_THREADS", "1")
    pretend(monkeypatch, "accelerate")
    made = make(2)
    assert told == [1, 0]  # each other thread takes one, this one takes many
    made.limited(lambda: told.append(made.threads), 1)()
    assert told == [1, 0, 1, 1, 0]
    made.threads = 4
    with pytest.raises(NotMeasurable, match="as many as when it was loaded"):
        made.limited(print, 3)()
    assert is_right(build(make(2), case_of("rbm", "odd")))
    assert made.describe()["library"] == "Accelerate"


def test_scipys_library_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    find, loaded = software.scipy_library.__wrapped__, list[Any]()
    selected = SimpleNamespace(select=lambda user_api: SimpleNamespace(lib_controllers=loaded))
    monkeypatch.setattr(software, "ThreadpoolController", lambda: selected)
    for name, library in {"scipy-openblas": "openblas", "mkl-dynamic-lp64-iomp": "mkl", "blas": "netlib"}.items():
        monkeypatch.setattr(scipy, "show_config", lambda mode, of=name: {"Build Dependencies": {"blas": {"name": of}}})
        assert find() == library
    numpys = Path(scipy.__file__).resolve().parents[1] / "numpy.libs/libscipy_openblas64_.so"
    loaded.append(SimpleNamespace(internal_api="openblas", filepath=str(numpys)))
    assert (find(), software.controller("openblas")) == ("netlib", None)
    loaded.append(SimpleNamespace(internal_api="mkl", filepath=str(tmp_path / "lib/libmkl_rt.so.2")))
    assert find() == "mkl"
    monkeypatch.setattr(software.platform, "system", lambda: "Darwin")
    loaded.clear()
    assert find() == "accelerate"


def test_arrays_are_aligned_to_cache_lines() -> None:
    """Arrays begin where a cache line does and are the row's own."""
    values = np.ones((300, 200)).T
    array = make().array(values)
    assert (array.dtype, array.ctypes.data % 64, array.flags.c_contiguous) == (np.float32, 0, True)
    assert not np.shares_memory(array, values)


@pytest.mark.parametrize(("name", "framework"), [("spmv", "numpy"), ("sort", "numpy"), ("sort", "torch")])
def test_what_a_library_does_alone_needs_one_thread(name: str, framework: str) -> None:
    made, case = make_backend(framework, device="cpu", precision="fp32", threads=1, seed=1), case_of(name, "odd")
    assert build(made, case)
    made.threads = 2
    with pytest.raises(NotMeasurable, match=f"^{framework} uses one thread for this: see the row of one core$"):
        build(made, case)
