"""A shell that says all kinds of things of threads, compilers, letters and packages."""

import json
import os
import subprocess
import sys
from pathlib import Path

from respeed.measure.environment import child_environment

FOREIGN = {
    "OMP_NUM_THREADS": "64", "OMP_PROC_BIND": "close", "MKL_NUM_THREADS": "9", "MKL_DYNAMIC": "TRUE",
    "OPENBLAS_NUM_THREADS": "7", "OPENBLAS_CORETYPE": "Prescott", "KMP_AFFINITY": "compact", "GOMP_CPU_AFFINITY": "0",
    "NUMBA_DISABLE_JIT": "1", "NUMBA_NUM_THREADS": "5", "PYTHONMALLOC": "debug", "PYTHONUTF8": "0",
    "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "POSIX",
}  # fmt: skip


def test_of_a_foreign_environment_only_places_reach_the_measuring_process() -> None:
    places = {"NUMBA_CACHE_DIR": "/cache", "LD_PRELOAD": "lib.so", "PATH": "/bin"}
    found = child_environment(2, FOREIGN | places)
    assert found.items() >= places.items()
    assert {name: found[name] for name in FOREIGN if name in found} == {
        "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2",
        "MKL_DYNAMIC": "FALSE", "LC_ALL": "POSIX",
    }  # fmt: skip


def test_a_measurement_in_a_foreign_environment_is_ours_and_says_what_was_loaded_before_all(tmp_path: Path) -> None:
    path = tmp_path / "folder with é"
    path.mkdir()
    for name in ("numpy.py", "torch.py", "scipy.py"):
        (path / name).write_text("raise SystemExit('not ours')\n")
    paths = os.pathsep.join([str(path), *filter(None, [os.environ.get("PYTHONPATH")])])
    preload = "libm.so.6" if sys.platform == "linux" else ""
    settings = ["preset=smoke", "experiments=rbm", "profiles=openblas-1", "machine=box"]
    done = subprocess.run(
        [sys.executable, "-m", "respeed", "measure", "--log", "log.txt", "--config", *settings], cwd=path, text=True,
        env=os.environ | FOREIGN | {"PYTHONPATH": paths, "LD_PRELOAD": preload}, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (file,) = path.glob("results/smoke/records/box/*/*/*/round-01.json")
    record = json.loads(file.read_text())
    assert {case["status"] for case in record["cases"]} == {"measured"}
    environment = record["provenance"]["environment"]
    assert environment["OPENBLAS_NUM_THREADS"] == "1"
    assert not {"OPENBLAS_CORETYPE", "NUMBA_DISABLE_JIT", "OMP_PROC_BIND"} & environment.keys()
    assert environment.get("LD_PRELOAD", "") == preload
