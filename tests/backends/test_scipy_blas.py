"""SciPy's BLAS: which one it is, and rows of another, as far as they can be tried where that is not."""

import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy

from respeed.backends import make_backend, scipy_blas
from respeed.errors import NotMeasurable
from respeed.inputs.registry import backends, workloads
from respeed.machine import software
from respeed.machine.software import LIBRARIES
from respeed.measure.case import TOLERANCE
from tests.conformance.programs import case_of, errors_of


def of_scipy(name: str, threads: int = 1, precision: str = "fp32") -> Any:
    return make_backend(name, device="cpu", precision=precision, threads=threads, seed=1)


def is_of(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setattr(software, "scipy_library", lambda: library)


@pytest.fixture
def on_a_mac(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """As where SciPy computes with Accelerate; what each thread was told, and by which."""
    told: list[tuple[int, int]] = []

    def setter(model: int) -> int:
        told.append((threading.get_ident(), model))
        return 0

    is_of(monkeypatch, "accelerate")
    monkeypatch.setattr(scipy_blas, "_threading_setter", lambda: setter)
    monkeypatch.setenv("VECLIB_MAXIMUM_THREADS", "1")
    return told


def test_every_library_has_a_backend_of_its_name() -> None:
    own = {name: facts.library for name, facts in backends().items() if facts.library}
    assert own == {name: name for name in LIBRARIES}


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_that_scipy_does_not_compute_with_is_a_reason(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = "openblas" if name != "openblas" else "accelerate"
    is_of(monkeypatch, other)
    told = f"SciPy computes with {LIBRARIES[other]} here, not with {LIBRARIES[name]}"
    with pytest.raises(NotMeasurable, match=told):
        of_scipy(name)


def test_what_counts_in_64_bits_is_not_called_with_32(monkeypatch: pytest.MonkeyPatch, on_a_mac: object) -> None:
    monkeypatch.setattr(scipy_blas, "TAKES_INT", False)
    with pytest.raises(NotMeasurable, match="this SciPy's Accelerate counts in 64-bit numbers"):
        of_scipy("accelerate")


def test_a_workload_agrees_with_float64_on_accelerates_backend(on_a_mac: object) -> None:
    """The library behind it is another here; all that lies between is Accelerate's."""
    made = of_scipy("accelerate", 2)
    errors = errors_of(made, case_of("rbm", "odd"))
    assert errors
    assert max(errors.values()) < TOLERANCE["fp32"]


@pytest.mark.parametrize("workload", workloads())
def test_a_workload_runs_on_the_blas_of_every_scipy_or_on_none(workload: str) -> None:
    assert len(set(LIBRARIES) & set(workloads()[workload].backends)) in {0, len(LIBRARIES)}


def test_lanes_on_accelerate_each_multiply_alone(on_a_mac: list[tuple[int, int]]) -> None:
    made: Any = of_scipy("accelerate", 2)
    seen = []
    made.each([0, 1, 2, 3], lambda item, lane: seen.append(item))
    here = on_a_mac[0][0]
    assert [model for thread, model in on_a_mac if thread == here] == [0, 1, 0]  # many, and alone among lanes
    assert {model for thread, model in on_a_mac if thread != here} <= {1}
    assert sorted(seen) == [0, 1, 2, 3]


def test_accelerate_takes_no_number_of_threads_but_its_own_and_one(
    on_a_mac: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Any = of_scipy("accelerate", 4)
    for threads in (1, 4):
        with made.limited(threads):
            assert made.threads == threads
    with pytest.raises(NotMeasurable, match="as many threads as when it was loaded"):
        made.limited(2)
    monkeypatch.setattr(scipy_blas, "_threading_setter", lambda: None)  # before macOS 15
    with pytest.raises(NotMeasurable, match="as many threads as when it was loaded"):
        of_scipy("accelerate", 4).limited(1)


class Library(SimpleNamespace):
    """A library as threadpoolctl shows it, which keeps its number for the process or for each thread."""

    internal_api, num_threads = "mkl", 4

    def set_num_threads(self, number: int) -> None:
        if not self.by_thread or threading.current_thread() is threading.main_thread():
            self.num_threads = number

    def info(self) -> dict[str, Any]:
        return {"num_threads": self.num_threads, "version": "2025.1", "threading_layer": "intel"}


@pytest.mark.parametrize("by_thread", [True, False])
def test_lanes_limit_themselves_where_each_thread_has_a_number_of_its_own(
    by_thread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_of(monkeypatch, "mkl")
    library = Library(by_thread=by_thread)
    monkeypatch.setattr(software, "controller", lambda name: library)
    monkeypatch.setattr(scipy_blas, "threadpool_limits", lambda threads: None)
    made: Any = of_scipy("mkl", 4)
    assert (made.each_alone is not None) == by_thread
    assert library.num_threads == 4
    assert (made.describe()["library"], made.describe()["version"]) == ("MKL", "2025.1")


def test_a_library_whose_threads_nobody_sets_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    is_of(monkeypatch, "mkl")
    with pytest.raises(NotMeasurable, match="threadpoolctl does not find this SciPy's MKL"):
        of_scipy("mkl")


def built_with(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    config = {"Build Dependencies": {"blas": {"name": name}}}
    monkeypatch.setattr(scipy, "show_config", lambda mode: config)


WHEELS = {
    "scipy-openblas": "openblas", "openblas": "openblas", "accelerate": "accelerate", "Accelerate": "accelerate",
    "mkl-sdl": "mkl", "mkl-dynamic-lp64-iomp": "mkl", "blis": "blis", "FlexiBLAS": "flexiblas",
}  # fmt: skip


@pytest.mark.parametrize(("name", "library"), WHEELS.items())
def test_a_wheel_says_what_it_was_built_with(name: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    built_with(monkeypatch, name)
    assert software.scipy_library.__wrapped__() == library


def test_behind_a_stub_is_what_was_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    built_with(monkeypatch, "blas")
    site = Path(scipy.__file__).resolve().parents[1]
    loaded = [
        SimpleNamespace(internal_api="openblas", filepath=str(site / "numpy.libs/libscipy_openblas64_.so")),
        SimpleNamespace(internal_api="mkl", filepath=str(tmp_path / "lib/libmkl_rt.so.2")),
    ]
    selected = SimpleNamespace(select=lambda user_api: SimpleNamespace(lib_controllers=loaded))
    monkeypatch.setattr(software, "ThreadpoolController", lambda: selected)
    assert software.scipy_library.__wrapped__() == "mkl"
    assert software.controller("openblas") is None  # NumPy's
    loaded.pop()
    assert software.scipy_library.__wrapped__() == "netlib"
    monkeypatch.setattr(software.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libvecLibFort-ng.dylib").touch()
    (tmp_path / "lib/libblas.3.dylib").symlink_to("libvecLibFort-ng.dylib")
    assert software.scipy_library.__wrapped__() == "accelerate"


def test_what_this_scipy_computes_with_multiplies() -> None:
    """Whichever it is: its backend is the one row that is there."""
    made: Any = of_scipy(software.scipy_library(), precision="fp64")
    a, out = made.array(np.arange(6.0).reshape(2, 3)), made.zeros(2, 2)
    made.gemm(a, a, out, transpose_b=True)
    assert np.array_equal(out, a @ a.T)
