"""What workloads and backends there are, read from their source: to check a file must not import torch."""

import ast
import functools
from pathlib import Path
from typing import Any

from respeed.load.folders import BACKENDS, WORKLOADS


def _modules(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(folder.glob("*.py")) if not path.stem.startswith("_")}


def _constant(path: Path, name: str) -> Any:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
            return ast.literal_eval(node.value)
    return None


@functools.cache
def workload_parameters() -> dict[str, dict[str, str]]:
    """Each workload's name and the parameters that a case of it must give, "whole" or "real": its PARAMETERS."""
    found = {name: _constant(path, "PARAMETERS") for name, path in _modules(WORKLOADS).items()}
    return {name: parameters for name, parameters in found.items() if parameters}


@functools.cache
def workload_backends() -> dict[str, tuple[str, ...]]:
    """Each workload's name and the backends that it runs on: BACKENDS of its module, or all."""
    every = tuple(backend_devices())
    return {name: _constant(_modules(WORKLOADS)[name], "BACKENDS") or every for name in workload_parameters()}


@functools.cache
def workload_precisions() -> dict[str, tuple[str, ...]]:
    """Each workload's name and the precisions that it runs in: PRECISIONS of its module, or all."""
    every = tuple(dict.fromkeys(name for names in backend_precisions().values() for name in names))
    return {name: _constant(_modules(WORKLOADS)[name], "PRECISIONS") or every for name in workload_parameters()}


def runs(workload: str, backend: str, precision: str) -> bool:
    """Whether the workload runs on the backend in the precision."""
    return backend in workload_backends()[workload] and precision in workload_precisions()[workload]


@functools.cache
def backend_devices() -> dict[str, tuple[str, ...]]:
    """Each backend's name and the devices it runs on: DEVICES of its module."""
    found = {name: _constant(path, "DEVICES") for name, path in _modules(BACKENDS).items()}
    return {name: devices for name, devices in found.items() if devices}


@functools.cache
def backend_precisions() -> dict[str, tuple[str, ...]]:
    """Each backend's name and the precisions it offers: PRECISIONS of its module."""
    return {name: _constant(_modules(BACKENDS)[name], "PRECISIONS") for name in backend_devices()}
