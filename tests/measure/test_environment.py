"""What of the shell's environment reaches a measurement, and its record."""

from pathlib import Path

from respeed.machine.process import child_environment, telling_environment
from respeed.machine.software import library_name
from tests.measure.test_turn import FOREIGN

# What shells say, and what becomes of it in a process of one thread and in one of two: the value that it has there,
# with "recorded" before what its record has as well.
FATES = Path(__file__).parent / "environment.txt"
SAID = "~/7"


def fate(name: str, found: dict[str, str]) -> str:
    return f"{'recorded ' * (name in telling_environment(found))}{found.get(name, 'left out')}"


def test_a_foreign_environment_reaches_measurements_as_devices_only() -> None:
    """Nothing reaches it of arithmetic, threads or compilers; and a record names no user, machine or folder."""
    lines = FATES.read_text("utf-8").splitlines()
    said = {name: SAID for name, *fates in map(str.split, lines) if {SAID, "left"} & {*fates}}
    one, two = (child_environment(threads, said | FOREIGN) for threads in (1, 2))
    names = sorted({*said, *FOREIGN, *one, *two})
    assert lines == [f"{name} {fate(name, one)}, {fate(name, two)}" for name in names]


def test_a_record_lists_variables_by_name() -> None:
    """Their order would otherwise be another in every process."""
    assert len(recorded := [*telling_environment(child_environment(1, {}))]) > 5
    assert recorded == sorted(recorded)


def test_a_record_names_libraries_without_folders() -> None:
    """Of files with their folders a record tells the names and the wheel of a library."""
    preloaded = {"LD_PRELOAD": "/home/a=b/libx.so:~a/liby.so:libm.so.6", "DYLD_INSERT_LIBRARIES": "a/libx.dylib"}
    assert {*telling_environment(preloaded).values()} == {"libx.so:liby.so:libm.so.6", "libx.dylib"}
    assert {library_name(path) for path in ("/home/anna/lib/libx.so", "anna/libx.so", "libx.so")} == {"libx.so"}
    assert library_name("/venv/site-packages/numpy.libs/libopenblas.so") == "numpy.libs/libopenblas.so"
