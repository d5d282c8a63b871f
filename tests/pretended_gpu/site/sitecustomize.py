"""Python imports this as it starts: in every process that takes the pretended GPU for one, torch gets its numbers."""

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType


class AfterTorch(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds torch as it would have been found, and begins to pretend once it is imported."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:
            self.loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        from tests.pretended_gpu.numbers import pretend

        pretend()


if "PRETENDED_GPU" in os.environ:
    with contextlib.suppress(ImportError):
        from respeed.machine import process

        # The measuring process is to find the pretended GPU, too: it inherits nothing else of the kind.
        process.PREFIXES += ("PRETENDED_",)
    sys.meta_path.insert(0, AfterTorch())
