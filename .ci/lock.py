"""Make requirements.lock, with what the set-up loads and takes on each platform at its end.

./run python .ci/lock.py

What it loads is the sum of the sizes that the index gives. What it takes is measured: the packages of every platform
are installed in an empty folder, which loads all of them.
"""

import os
import shutil
import subprocess
import tempfile
import tomllib
from pathlib import Path

LOCK = Path("requirements.lock")
# As `uname -sm` and as uv call them.
PLATFORMS = {
    "Linux x86_64": "x86_64-manylinux_2_28",
    "Linux aarch64": "aarch64-manylinux_2_28",
    "Darwin arm64": "aarch64-apple-darwin",
}
# The oldest macOS that torch has wheels for.
ENVIRONMENT = os.environ | {"MACOSX_DEPLOYMENT_TARGET": "14.0"}
GB = 1e9


def call_uv(*arguments: str) -> None:
    """Call the uv that `./run` uses."""
    uv = shutil.which("uv") or ".tools/uv/bin/uv"
    subprocess.run([uv, "pip", *arguments], check=True, env=ENVIRONMENT)


def make_lock() -> None:
    """Write the lock; the versions that it has already stay where they can."""
    extras = ["--extra=dev", "--extra=slurm", "--extra=jax"]
    options = ["--quiet", "--universal", "--python-version=3.11", "--generate-hashes"]
    call_uv("compile", *options, *extras, "pyproject.toml", f"--output-file={LOCK}")


def bytes_loaded(platform: str, folder: Path) -> int:
    """Add up the files that the index has for the platform."""
    listed = folder / "pylock.toml"
    options = ["--quiet", "--no-deps", "--python-version=3.11", f"--python-platform={platform}", "--format=pylock.toml"]
    call_uv("compile", *options, str(LOCK), f"--output-file={listed}")
    packages = tomllib.loads(listed.read_text(encoding="utf-8"))["packages"]
    return sum(size_of_file(package) for package in packages)


def size_of_file(package: dict) -> int:
    """Return the size of the largest wheel that fits, or of the source if there is none."""
    if "wheels" in package:
        return max(wheel["size"] for wheel in package["wheels"])
    return package["sdist"]["size"]


def bytes_taken(platform: str, folder: Path) -> int:
    """Install the packages, and measure them together with uv's cache, which shares files with them."""
    options = ["--quiet", "--compile-bytecode", "--python-version=3.11", f"--python-platform={platform}"]
    call_uv("sync", *options, str(LOCK), f"--target={folder}/packages", f"--cache-dir={folder}/cache")
    kilobytes, _ = subprocess.check_output(["du", "-sk", folder], text=True).split(maxsplit=1)
    return 1024 * int(kilobytes)


def describe(name: str, platform: str) -> str:
    """Return the line of the lock that `run` looks for."""
    with tempfile.TemporaryDirectory() as folder:
        loads = bytes_loaded(platform, Path(folder)) / GB
        takes = bytes_taken(platform, Path(folder)) / GB
    return f"# {name}: loads up to {loads:.1f} GB, takes up to {takes:.1f} GB on the disk\n"


if __name__ == "__main__":
    make_lock()
    lines = [describe(name, platform) for name, platform in PLATFORMS.items()]
    with LOCK.open("a", encoding="utf-8") as lock:
        lock.writelines(lines)
