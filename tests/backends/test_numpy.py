"""NumPy's rows: which library SciPy computes with, and those that are not here, as far as they can be tried."""

import threading
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


@pytest.fixture
def on_a_mac(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """As where SciPy computes with Accelerate; what each thread was told, and by which."""
    told: list[tuple[int, int]] = []

    def setter(model: int) -> int:
        told.append((threading.get_ident(), model))
        return 0

    monkeypatch.setattr(backend, "scipy_library", lambda: "accelerate")
    monkeypatch.setattr(backend, "_threading_setter", lambda: setter)
    monkeypatch.setenv("VECLIB_MAXIMUM_THREADS", "1")
    return told


def test_a_library_whose_threads_cannot_be_set_or_that_counts_in_64_bits_is_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backend, "scipy_library", lambda: "netlib")
    with pytest.raises(NotMeasurable, match="SciPy computes with netlib here, whose threads cannot be set"):
        make()
    monkeypatch.setattr(backend, "scipy_library", lambda: "mkl")
    monkeypatch.setattr(backend, "controller", lambda name: None)
    with pytest.raises(NotMeasurable, match="threadpoolctl does not find this SciPy's MKL"):
        make()
    monkeypatch.setattr(backend, "TAKES_INT", False)
    monkeypatch.setattr(backend, "controller", lambda name: Library(by_thread=False, told=[]))
    with pytest.raises(NotMeasurable, match="this SciPy's MKL counts in 64-bit numbers"):
        make()


def test_a_workload_agrees_with_float64_where_threads_are_accelerates(on_a_mac: object) -> None:
    """The library behind it is another here; all that lies between is Accelerate's."""
    assert is_right(build(make(2), case_of("rbm", "odd")))
    assert make(2).describe()["library"] == "Accelerate"


def test_each_thread_on_accelerate_multiplies_alone(on_a_mac: list[tuple[int, int]]) -> None:
    made, seen, meeting = make(2), list[int](), threading.Barrier(2, timeout=60)
    made.each([0, 1], lambda item: (seen.append(item), meeting.wait()))
    here = on_a_mac[0][0]
    assert [model for thread, model in on_a_mac if thread == here] == [0, 1, 0]  # many, and alone among others
    assert [model for thread, model in on_a_mac if thread != here] == [1]
    assert sorted(seen) == [0, 1]


def test_accelerate_takes_no_number_of_threads_but_its_own_and_one(
    on_a_mac: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, seen = make(2), list[int]()
    for threads in (1, 2):
        made.limited(lambda: seen.append(made.threads), threads)()
    assert seen == [1, 2]
    with pytest.raises(NotMeasurable, match="as many threads as when it was loaded"):
        made.limited(print, 3)
    monkeypatch.setattr(backend, "_threading_setter", lambda: None)  # before macOS 15
    with pytest.raises(NotMeasurable, match="as many threads as when it was loaded"):
        make(2).limited(print, 1)


class Library(SimpleNamespace):
    """A library as threadpoolctl shows it, which keeps its number for the process or for each thread."""

    num_threads = 2

    def set_num_threads(self, number: int) -> None:
        self.told.append((threading.get_ident(), number))
        if not self.by_thread or threading.current_thread() is threading.main_thread():
            self.num_threads = number

    def info(self) -> dict[str, Any]:
        return {"num_threads": self.num_threads, "version": "2025.1", "threading_layer": "intel"}


@pytest.mark.parametrize("by_thread", [True, False])
def test_threads_limit_themselves_where_each_has_a_number_of_its_own(
    by_thread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library(by_thread=by_thread, told=[])
    monkeypatch.setattr(backend, "scipy_library", lambda: "mkl")
    monkeypatch.setattr(backend, "controller", lambda name: library)
    monkeypatch.setattr(backend, "threadpool_limits", lambda threads: None)
    made, meeting = make(2), threading.Barrier(2, timeout=60)
    library.told.clear()
    made.each([0, 1], lambda item: meeting.wait())
    others = [number for thread, number in library.told if thread != threading.get_ident()]
    assert others == [1] * by_thread
    assert library.num_threads == 2
    assert (made.describe()["library"], made.describe()["version"]) == ("MKL", "2025.1")


WHEELS = {
    "scipy-openblas": "openblas", "openblas": "openblas", "accelerate": "accelerate", "Accelerate": "accelerate",
    "mkl-sdl": "mkl", "mkl-dynamic-lp64-iomp": "mkl", "blis": "blis", "FlexiBLAS": "flexiblas",
}  # fmt: skip


def test_scipys_library_is_what_it_was_built_with_or_behind_a_stub_what_was_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    find = software.scipy_library.__wrapped__

    def built_with(name: str) -> None:
        monkeypatch.setattr(scipy, "show_config", lambda mode: {"Build Dependencies": {"blas": {"name": name}}})

    for name, library in WHEELS.items():
        built_with(name)
        assert find() == library
    built_with("blas")
    site = Path(scipy.__file__).resolve().parents[1]
    loaded = [
        SimpleNamespace(internal_api="openblas", filepath=str(site / "numpy.libs/libscipy_openblas64_.so")),
        SimpleNamespace(internal_api="mkl", filepath=str(tmp_path / "lib/libmkl_rt.so.2")),
    ]
    selected = SimpleNamespace(select=lambda user_api: SimpleNamespace(lib_controllers=loaded))
    monkeypatch.setattr(software, "ThreadpoolController", lambda: selected)
    assert find() == "mkl"
    assert software.controller("openblas") is None  # NumPy's
    loaded.pop()
    assert find() == "netlib"
    monkeypatch.setattr(software.platform, "system", lambda: "Darwin")
    assert find() == "accelerate"


@pytest.mark.parametrize("transposed", [False, True])
def test_arrays_begin_where_a_cache_line_does_and_are_the_rows_own(transposed: bool) -> None:
    values = np.ones((300, 200))
    array = make().array(values.T if transposed else values)
    assert (array.dtype, array.ctypes.data % 64, array.flags.c_contiguous) == (np.float32, 0, True)
    assert not np.shares_memory(array, values)
