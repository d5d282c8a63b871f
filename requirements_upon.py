"""Which packages of requirements.lock `run` installs where .venv is made upon another Python's (RESPEED_PYTHON).

Called with the Python of .venv, that file with the other one's folders, and a file to write what is to be installed.
Exit code 0 says that it was written anew, 10 that it was right already, 2 that nothing can be made upon that Python.

A package of the other Python stays if pyproject.toml and every package that is used beside it allow its version. What
only such a package asks for is not installed: so torch keeps its own CUDA, ROCm or nothing. What a package asks for is
known only once it is installed, so `run` calls this again until nothing changes; what was decided stays decided.
"""

import importlib.util
import json
import re
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent
# Those that numbers come from. Any other that has commands is installed, so that these lie in .venv/bin.
NUMERIC = ("torch", "numpy", "scipy", "numba", "jax", "jaxlib")
# Packages by their names.
Found = Mapping[str, Distribution]


class Choice(NamedTuple):
    """Packages that stay theirs, that are installed, why others of theirs do not stay, and what is left out, which is
    nothing but extras that would have another NumPy, or the like."""

    kept: set[str]
    installed: set[str]
    why_not: dict[str, str]
    left_out: dict[str, str]


def canonical(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def read_lock(lines: Iterable[str]) -> dict[str, list[str]]:
    """The lines of each package; those of several versions of it, of which one applies, together."""
    blocks: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        if found := re.match("[A-Za-z0-9][A-Za-z0-9._-]*", line):
            name = canonical(found[0])
        if name:
            blocks.setdefault(name, []).append(line)
    return blocks


def asked_by(block: Iterable[str]) -> set[str]:
    """Who asks for a package, by the comments of the lock."""
    return {line.removeprefix("# via").strip(" #") for one in block if (line := one.strip()).startswith("#")}


def find(folders: Iterable[str]) -> dict[str, Distribution]:
    found: dict[str, Distribution] = {}
    for one in distributions(path=list(folders)):
        found.setdefault(canonical(one.metadata["Name"] or ""), one)
    return found


def needed(lock: Mapping[str, list[str]], roots: Iterable[str], kept: Iterable[str]) -> set[str]:
    """What `roots` use, and what that uses in turn; but what only those that are kept ask for is theirs."""
    reached, before = lock.keys() & set(roots), -1
    while len(reached) > before:
        before = len(reached)
        reached |= {name for name, block in lock.items() if asked_by(block) & (reached - set(kept))}
    return reached


def has_commands(one: Distribution) -> bool:
    return bool(one.entry_points.select(group="console_scripts")) or any(
        "bin" in file.parts for file in one.files or ()
    )


def choose(
    lock: Mapping[str, list[str]], theirs: Found, ours: Found, project: Mapping[str, Any], before: Mapping[str, Any]
) -> Choice:
    """What of theirs stays and what is installed, given what is installed already and what was decided `before`."""
    from packaging.requirements import Requirement

    def requirements(who: str, texts: Iterable[str]) -> Iterator[tuple[str, str, Requirement]]:
        for one in map(Requirement, texts):
            if one.marker is None or one.marker.evaluate({"extra": ""}):
                yield who, canonical(one.name), one

    extras = [one for extra in project["optional-dependencies"].values() for one in extra]
    asked_first = [*requirements("respeed", [*project["dependencies"], *extras])]
    core = needed(lock, [name for _, name, _ in requirements("", project["dependencies"])], ())
    versions = {name: re.findall(r"==([^ ;\\]+)", " ".join(block)) for name, block in lock.items()}
    why_not = {name: "it has commands" for name in theirs if name not in NUMERIC and has_commands(theirs[name])}
    why_not |= before.get("why_not", {})
    left_out: dict[str, str] = dict(before.get("left_out", {}))
    while True:
        stay = lock.keys() & theirs.keys() - why_not.keys()
        # Triton's pins are those of torch, which has its own or none.
        kept = stay | {"triton"} if "torch" in stay else stay
        used = needed(lock, {name for _, name, _ in asked_first} - left_out.keys(), kept) - left_out.keys()
        asked = list(asked_first)
        for name in used:
            # Of what is to be installed nothing is known, unless it is there in the version of the lock.
            one = theirs.get(name) if name in kept else ours.get(name)
            if one and (name in kept or one.version in versions[name]):
                asked += requirements(name, one.requires or ())
        decided, lacking = len(why_not), dict[str, str]()
        for who, name, demand in asked:
            met = (theirs if name in stay else ours).get(name)
            if met is None or name in kept - stay or demand.specifier.contains(met.version, prereleases=True):
                continue
            needs = f"needs {demand.name}{demand.specifier}"
            if {who, name} <= stay:  # how theirs fit one another is theirs
                continue
            if name in stay and name in NUMERIC and who != "respeed" and who not in core:
                lacking[who] = needs
            elif name in stay:
                why_not[name] = f"{who} {needs}"
            elif who in stay and name in used:
                why_not.setdefault(who, f"it {needs}")
        if len(why_not) == decided:
            if not lacking:
                return Choice(kept, used - kept, why_not, left_out)
            left_out |= lacking


def told(python: str, choice: Choice, theirs: Found) -> str:
    """What became of the packages that people choose a Python for, in a line."""
    stay = [f"{name} {theirs[name].version}" for name in NUMERIC[:3] if name in choice.kept]
    go = [
        f"not its {name} {theirs[name].version}, as {choice.why_not[name]}" if name in theirs else f"it has no {name}"
        for name in NUMERIC[:3]
        if name not in choice.kept
    ]
    lacks = [f"without {name}, which {needs}" for name, needs in choice.left_out.items()]
    whose = f"{' and '.join(filter(None, [', '.join(stay[:-1]), *stay[-1:]])) or 'nothing'} of {python}"
    return f"run: .venv uses {'; '.join([whose, *go, *lacks])}. RESPEED_PYTHON= ./run ... goes back to the lock's"


def main(upon: Path, out: Path) -> int:
    python, *folders = upon.read_text().splitlines()
    lock = read_lock((ROOT / "requirements.lock").read_text().splitlines())
    theirs = find(folders)
    text = out.read_text() if out.exists() else ""
    if importlib.util.find_spec("packaging") is None:  # from the lock, to begin with
        choice = Choice(set(), {"packaging"}, {}, {})
    else:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        ours = find({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
        before = json.loads(text.splitlines()[0].removeprefix("#")) if text else {}
        choice = choose(lock, theirs, ours, project, before)
    decided = {"why_not": choice.why_not, "left_out": choice.left_out}
    text = f"# {json.dumps(decided)}\n" + "".join(
        f"{line}\n" for name in sorted(choice.installed) for line in lock[name]
    )
    if out.exists() and out.read_text() == text:
        print(told(python, choice, theirs), file=sys.stderr)
        return 10
    if "torch" in choice.kept:
        tried = subprocess.run(
            [sys.executable, "-I", "-c", "import torch"], capture_output=True, text=True, check=False
        )
        if tried.returncode:
            reason = (tried.stderr.strip() or "it ends without a word").splitlines()[-1]
            print(f"run: torch {theirs['torch'].version} of {python} cannot be imported: {reason}", file=sys.stderr)
            return 2
    out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
