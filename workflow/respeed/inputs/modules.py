"""What workloads and backends there are, read from their source: to check a file must not import torch."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from respeed.errors import UserError
from respeed.inputs.source import BACKEND, WORKLOAD, what_is_wrong
from respeed.inputs.source import read_constant as _constant
from respeed.machine.software import OF_BEFORE, library_label
from respeed.model.profile import Profile
from respeed.paths import BACKENDS, WORKLOADS


def _files(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(folder.glob("*.py")) if not path.stem.startswith("_")}


@functools.cache
def broken_modules(folder: Path) -> dict[str, str]:
    """The files of workloads, or of backends, that cannot be used, by name, and a line that says why."""
    forms = WORKLOAD if folder == WORKLOADS else BACKEND
    found = {name: what_is_wrong(path, forms) for name, path in _files(folder).items()}
    return {name: line for name, line in found.items() if line}


def check_module(kind: str, name: str, where: str) -> None:
    """UserError if the workload or the backend of that name, which `where` names, cannot be used."""
    if line := broken_modules(WORKLOADS if kind == "workload" else BACKENDS).get(name):
        raise UserError(f"{where}: the {kind} {name} cannot be used: {line}")


def _modules(folder: Path) -> dict[str, Path]:
    """Those that can be used: a broken one stops only what names it."""
    return {name: path for name, path in _files(folder).items() if name not in broken_modules(folder)}


def _of_workloads(name: str) -> dict[str, Any]:
    """A constant of every workload's module; None where it has none."""
    return {workload: _constant(_modules(WORKLOADS)[workload], name) for workload in workload_parameters()}


@functools.cache
def workload_parameters() -> dict[str, dict[str, str | tuple[str, ...]]]:
    """Each workload's name and the parameters that a case of it must give, "whole", "real" or the texts that it may be:
    its PARAMETERS."""
    return {name: _constant(path, "PARAMETERS") for name, path in _modules(WORKLOADS).items()}


@functools.cache
def workload_tests() -> dict[str, dict[str, dict[str, Any]]]:
    """Each workload's name and the parameters of its test cases, smoke, odd and large: its TESTS."""
    return _of_workloads("TESTS")


@functools.cache
def workload_asks() -> dict[str, tuple[str, ...]]:
    """Each workload's name and what it asks of a backend beyond what every one has: its ASKS, or nothing."""
    return {workload: asks or () for workload, asks in _of_workloads("ASKS").items()}


@functools.cache
def workloads_with_products() -> tuple[str, ...]:
    """The workloads whose steps have matrix products: all but those whose PRODUCTS is False."""
    return tuple(workload for workload, products in _of_workloads("PRODUCTS").items() if products is not False)


@functools.cache
def workload_allocates() -> dict[str, tuple[str, ...]]:
    """Each workload's name and the precisions in which its step must allocate arrays: ALLOCATES of its module, where
    True stands for all, or none."""
    return {
        workload: workload_precisions()[workload] if allocates is True else allocates or ()
        for workload, allocates in _of_workloads("ALLOCATES").items()
    }


@functools.cache
def workload_backends() -> dict[str, tuple[str, ...]]:
    """Each workload's name and the backends that it runs on: of BACKENDS of its module, or of all, those that offer
    what it asks for."""
    allowed, offers = _of_workloads("BACKENDS"), backend_offers()
    return {
        workload: tuple(name for name in allowed[workload] or offers if set(asks) <= set(offers.get(name, ())))
        for workload, asks in workload_asks().items()
    }


@functools.cache
def workload_precisions() -> dict[str, tuple[str, ...]]:
    """Each workload's name and the precisions that it runs in: PRECISIONS of its module, or all."""
    every = tuple(dict.fromkeys(name for names in backend_precisions().values() for name in names))
    return {workload: precisions or every for workload, precisions in _of_workloads("PRECISIONS").items()}


def runs(workload: str, backend: str, precision: str) -> bool:
    """Whether the workload runs on the backend in the precision."""
    return why_not_run(workload, backend, precision) is None


def why_not_run(workload: str, backend: str, precision: str) -> str | None:
    """Why the workload does not run on the backend in the precision; None if it does."""
    if backend not in workload_backends()[workload]:
        return f"{workload} does not run on {backend}"
    if precision not in workload_precisions()[workload]:
        return f"{workload} runs in {', '.join(workload_precisions()[workload])} alone"
    return None


@functools.cache
def backend_devices() -> dict[str, tuple[str, ...]]:
    """Each backend's name and the devices it runs on: DEVICES of its module."""
    return {name: _constant(path, "DEVICES") for name, path in _modules(BACKENDS).items()}


@functools.cache
def backend_precisions() -> dict[str, tuple[str, ...]]:
    """Each backend's name and the precisions it offers: PRECISIONS of its module."""
    return {name: _constant(_modules(BACKENDS)[name], "PRECISIONS") for name in backend_devices()}


@functools.cache
def backend_libraries() -> dict[str, str]:
    """The BLAS, by its name in `LIBRARIES`, of every backend that computes with SciPy's: LIBRARY of its module."""
    found = {name: _constant(_modules(BACKENDS)[name], "LIBRARY") for name in backend_devices()}
    return {name: library for name, library in found.items() if library}


@functools.cache
def backend_offers() -> dict[str, tuple[str, ...]]:
    """Each backend's name and what workloads may ask of it: REQUIRED of the contract, and OFFERS of its module."""
    required = _constant(BACKENDS / "_contract.py", "REQUIRED")
    return {name: (*required, *(_constant(_modules(BACKENDS)[name], "OFFERS") or ())) for name in backend_devices()}


def other_library(profile: Profile, facts: Mapping[str, Any]) -> str | None:
    """The reason if the profile needs a BLAS that is not the one of the machine's SciPy: it is then no row of its
    tables, where the row of its own library stands. None if it needs none, or that one."""
    there = facts.get("blas") or OF_BEFORE
    for needed in (backend_libraries().get(profile.backend), profile.requires.get("library")):
        if needed and needed != there:
            return f"needs {library_label(needed)}; SciPy computes with {library_label(there)} here"
    return None
