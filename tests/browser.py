"""Chromium without a window, driven through the pipes of its DevTools: pages as a reader's browser shows them."""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_SECONDS = 60.0
WIDTH, HEIGHT = 1366, 850


class Browser:
    """One page, in a profile of its own. `errors` are what its console called an error, `asked` the addresses it asked
    for."""

    def __init__(self) -> None:
        program = next((found for name in NAMES if (found := shutil.which(name))), None)
        if program is None:
            pytest.skip(f"no browser to look at pages with: none of {', '.join(NAMES)} is installed")
        self.errors: list[str] = []
        self.asked: list[str] = []
        self._frames: dict[str, str] = {}
        self._last = 0
        self._session: str | None = None
        with contextlib.ExitStack() as closing:
            self._start(program, closing)
            target = self._ask("Target.createTarget", url="about:blank")["targetId"]
            self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self._ask(f"{domain}.enable")
            self._closing = closing.pop_all()

    def _start(self, program: str, closing: contextlib.ExitStack) -> None:
        profile = closing.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        commands, to_browser = os.pipe()
        from_browser, replies = os.pipe()
        self._to = closing.enter_context(os.fdopen(to_browser, "wb", buffering=0))
        self._from = closing.enter_context(os.fdopen(from_browser, "rb"))
        # It reads commands from descriptor 3 and writes to 4; the shell puts them there.
        process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{replies}', "bash", program, "--headless=new", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
             f"--user-data-dir={profile}", f"--window-size={WIDTH},{HEIGHT}"],
            pass_fds=(commands, replies), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(commands)
        os.close(replies)
        closing.enter_context(process)
        closing.callback(process.terminate)

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closing.close()

    def open(self, page: Path) -> None:
        self._ask("Page.navigate", url=page.resolve().as_uri())
        self.wait_for("document.readyState === 'complete'")

    def evaluate(self, script: str, *, framed: bool = False) -> Any:
        """The value of a JavaScript expression, in the page or in the frame that it shows."""
        where = {"uniqueContextId": self._frame()} if framed else {}
        found = self._ask("Runtime.evaluate", expression=script, returnByValue=True, **where)
        assert "exceptionDetails" not in found, f"{script}: {found['exceptionDetails']}"
        return found["result"].get("value")

    def wait_for(self, script: str, *, framed: bool = False) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (framed and not self._frame()) and not self.evaluate(script, framed=framed):
            assert time.monotonic() < deadline, f"never came true: {script}"
            time.sleep(0.05)

    def click(self, text: str, kind: str = "a") -> None:
        """Click the first element of the `kind` with exactly that text, as a reader does."""
        is_it = f"one => one.innerText.trim() === {json.dumps(text)}"
        find = f"[...document.querySelectorAll({json.dumps(kind)})].find({is_it})"
        self.wait_for(f"!!{find}")
        self.evaluate(f"{find}.click()")

    def save_picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._ask("Page.captureScreenshot")["data"]))

    def _frame(self) -> str:
        self._ask("Runtime.evaluate", expression="0")  # so that all that happened so far has been read
        return next(reversed(self._frames.values()), "")

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._last += 1
        command = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        self._to.write(json.dumps(command).encode() + b"\0")
        while True:
            told = self._read()
            if told.get("id") == self._last:
                assert "error" not in told, f"{method}: {told['error']}"
                result: dict[str, Any] = told["result"]
                return result
            self._note(told.get("method", ""), told.get("params", {}))

    def _read(self) -> dict[str, Any]:
        parts = []
        while (byte := self._from.read(1)) != b"\0":
            assert byte, "the browser ended"
            parts.append(byte)
        message: dict[str, Any] = json.loads(b"".join(parts))
        return message

    def _note(self, method: str, told: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(told["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and told["type"] in {"error", "assert"}:
            self.errors.append(json.dumps(told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.errors.append(told["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(told["request"]["url"])
        elif method == "Runtime.executionContextCreated":
            context = told["context"]
            self._frames[context["auxData"]["frameId"]] = context["uniqueId"]
        elif method == "Runtime.executionContextDestroyed":
            self._frames = {
                frame: context
                for frame, context in self._frames.items()
                if context != told.get("executionContextUniqueId")
            }
