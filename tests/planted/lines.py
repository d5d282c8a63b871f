"""A plugin of pytest that writes down which lines of the package each test runs, and how long it takes.

It sees the processes of pytest alone: not what Snakemake runs, and not what a measurement does in its own process.
"""

import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.planted.mistakes import PACKAGE

# Where it writes: a folder.
FOLDER = "PLANTED_LINES"
Lines = dict[str, set[int]]


class Watch:
    """Watches the lines of the package that run."""

    def __init__(self) -> None:
        self.lines: Lines = defaultdict(set)
        # Code of which every line has run: it need not be watched again.
        self.done = set[int]()
        self.files = dict[str, str]()
        self.of_code = dict[int, tuple[CodeType, set[int]]]()

    def enter(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        code = frame.f_code
        file = self.files.get(code.co_filename)
        if file is None:
            path = Path(code.co_filename)
            is_ours = path.suffix == ".py" and path.is_relative_to(PACKAGE)
            file = str(path.relative_to(PACKAGE)) if is_ours else ""
            self.files[code.co_filename] = file
        if not file or id(code) in self.done:
            return None
        self.lines[file].add(frame.f_lineno)
        return self.step

    def step(self, frame: FrameType, event: str, _argument: Any) -> Any:
        code = frame.f_code
        ran = self.lines[self.files[code.co_filename]]
        if event == "line":
            ran.add(frame.f_lineno)
        elif event == "return":
            _, every = self.of_code.setdefault(id(code), (code, {line for _, _, line in code.co_lines() if line}))
            if every <= ran:
                self.done.add(id(code))
        return self.step


class Recorder:
    """Keeps the lines and the seconds of each test that passed, with those of the fixtures that it shares."""

    def __init__(self) -> None:
        self.watch = Watch()
        self.tests = dict[str, dict[str, Any]]()
        self.fixtures: dict[object, tuple[Lines, float]] = {}

    def watched(self) -> Iterator[None]:
        """Watch what follows by itself, then add it to what was watched around it."""
        outer, done = self.watch.lines, self.watch.done
        self.watch.lines, self.watch.done = defaultdict(set), set()
        try:
            yield
        finally:
            _add(outer, self.watch.lines)
            self.watch.lines, self.watch.done = outer, done

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[Any]:
        if fixturedef.scope == "function":
            return (yield)
        began, watching = time.monotonic(), self.watched()
        next(watching)
        try:
            return (yield)
        finally:
            self.fixtures[fixturedef] = (self.watch.lines, time.monotonic() - began)
            next(watching, None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        self.watch.lines, self.watch.done, began = defaultdict(set), set(), time.monotonic()
        sys.settrace(self.watch.enter)
        threading.settrace(self.watch.enter)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            self._keep(item, time.monotonic() - began)

    def _keep(self, item: pytest.Item, seconds: float) -> None:
        lines: Lines = defaultdict(set)
        _add(lines, self.watch.lines)
        for fixtures in item._fixtureinfo.name2fixturedefs.values():
            for fixture in set(fixtures) & self.fixtures.keys():
                of_fixture, took = self.fixtures[fixture]
                _add(lines, of_fixture)
                seconds += took
        sorted_lines = {file: sorted(numbers) for file, numbers in lines.items()}
        self.tests[item.nodeid] = {"seconds": round(seconds, 3), "lines": sorted_lines}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed or report.skipped:
            self.tests[report.nodeid] = {}

    def pytest_sessionfinish(self) -> None:
        passed = {name: facts for name, facts in self.tests.items() if facts}
        if passed:
            name = os.environ.get("PYTEST_XDIST_WORKER", "all")
            Path(os.environ[FOLDER], f"{name}.json").write_text(json.dumps(passed), encoding="utf-8")


def _add(lines: Lines, others: Lines) -> None:
    for file, numbers in others.items():
        lines[file] |= numbers


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Recorder())
