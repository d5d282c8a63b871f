"""Chromium without a window: pages as a reader's browser shows them."""

import html
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Stands first in the page: notes what goes wrong, and tells in its title what came of the script and what it asked for.
ASK = """<script>
const errors = [];
addEventListener("error", event => errors.push(event.message));
addEventListener("unhandledrejection", event => errors.push(String(event.reason)));
console.error = (...said) => errors.push(said.join(" "));
const until = async make => {
  for (;;) {
    const found = make();
    if (found) return found;
    await new Promise(go => setTimeout(go, 50));
  }
};
addEventListener("load", async () => {
  const found = await (async () => { SCRIPT })();
  const asked = performance.getEntriesByType("resource").map(one => one.name);
  document.documentElement.innerHTML = "<head><title></title></head>";
  document.title = JSON.stringify({found, errors, asked});
});
</script>"""


def look(page: Path, script: str, state: str = "") -> Any:
    """Open a page, with a `state` after # in its address, and run a script in it; return what that returns.

    `until(() => ...)` waits in the script until something is there. Nothing may be an error, or asked for elsewhere.
    """
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"no browser to look at pages with: none of {', '.join(NAMES)} is installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        asking, text = Path(folder, "page.html"), page.read_text(encoding="utf-8")
        asking.write_text(text.replace("<head>", f"<head>{ASK.replace('SCRIPT', script)}", 1), encoding="utf-8")
        done = subprocess.run(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom",
             "--virtual-time-budget=60000", "--window-size=1366,850", f"--user-data-dir={folder}/own",
             f"{asking.as_uri()}#{state}"],
            capture_output=True, encoding="utf-8", check=True,
        )  # fmt: skip
    told = re.search("<title>(.*)</title>", done.stdout, re.DOTALL)
    assert told, "the script never ended"
    found = json.loads(html.unescape(told[1]))
    assert found["errors"] == []
    assert {re.split("[:,]", address)[0] for address in found["asked"]} <= {"file", "data", "blob", "about"}
    return found["found"]
