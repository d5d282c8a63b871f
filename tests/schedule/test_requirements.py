"""What a profile requires of a machine, and the reason where the machine has not got it."""

from dataclasses import replace
from typing import Any

import pytest

from respeed.inputs.profiles import load_profile, load_profiles, other_library
from respeed.schedule.availability import unmet

FACTS = {"cpu_flags": ["avx2", "fma"], "memory_bytes": 16e9, "blas": "openblas"}


@pytest.mark.parametrize(
    ("requires", "reason"),
    [
        ({}, None),
        ({"instructions": ["avx2"], "memory_gb": 8, "library": "openblas", "packages": ["numpy"]}, None),
        ({"instructions": ["avx2", "avx512f", "amx_tile"]}, "the CPU has no avx512f and no amx_tile"),
        ({"memory_gb": 64}, "needs 64 GB of memory, has 16.0"),
        ({"library": "mkl"}, "needs MKL; SciPy computes with OpenBLAS here"),
        ({"packages": ["numpy", "nowhere_to_be_found"]}, "needs the Python package nowhere_to_be_found, which is not"),
    ],
)
def test_what_is_missing_is_a_reason(requires: dict[str, Any], reason: str | None) -> None:
    found = unmet(replace(load_profile("torch-1"), requires=requires), FACTS)
    assert found is None if reason is None else (found or "").startswith(reason)


def rows(blas: str | None) -> set[str]:
    return {
        name
        for name, profile in load_profiles().items()
        if profile.is_cpu and not other_library(profile, {"blas": blas})
    }


def test_every_machine_has_the_rows_of_the_library_that_its_scipy_computes_with() -> None:
    named = {
        name for name, profile in load_profiles().items() if profile.backend in {"torch", "jax"} and profile.is_cpu
    }
    of_openblas = {"openblas-1", "openblas-all", "openblas-1-fp64", "openblas-all-fp64"}
    assert rows("openblas") - named == of_openblas
    assert rows(None) - named == of_openblas  # records of before do not say
    assert rows("accelerate") - named == {name.replace("openblas", "accelerate") for name in of_openblas}
    assert rows("mkl") - named == {"mkl-1", "mkl-all"}
    assert rows("blis") - named == {"blis-1", "blis-all"}
    assert rows("netlib") - named == {"netlib-1"}
