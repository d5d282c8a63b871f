"""A study of one's own: what respeed brings is there, what lies in the folder comes first, and all of it is named."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from pypdf import PdfReader

from tests.conftest import ROOT
from tests.study.conftest import Study


def test_an_empty_study_has_what_respeed_brings(study: Study) -> None:
    names = {path.name for path in study.folder.iterdir()}
    assert names == {
        *("Snakefile", "README.md", "config.yaml", ".gitignore", "profiles"),
        *("papers", "hardware", "machines", "workloads", "results", "report"),
    }
    told = study.run("respeed", "check").stdout
    assert told == "no mistake; looked at config.yaml, 31 hardware profiles, 10 papers, 0 machines\n"
    told = study.snakemake("-n", "--config", "preset=smoke").stdout
    assert "raina2009 rbm: 16 of 16 cells to measure" in told
    assert "./run" not in told
    again = study.run("respeed", "init", ".", check=False)
    assert (again.returncode, again.stdout) == (
        2,
        "respeed: init: config.yaml is there already; name a folder without one\n",
    )


def test_what_lies_in_the_study_comes_first(study: Study) -> None:
    told = study.run("respeed", "new", "hardware", "my-row").stdout
    assert told == "wrote hardware/my-row.yaml; once it is filled in: respeed doctor\n"
    text = (study.folder / "hardware/my-row.yaml").read_text("utf-8")
    assert "schema" not in text
    (study.folder / "hardware/torch-1.yaml").write_text(text.replace("My own row", "Another row"), "utf-8")
    shutil.copy(ROOT / "workflow/respeed/workloads/saxpy.py", study.folder / "workloads/mine.py")
    said = (
        "hardware/torch-1.yaml stands in place of respeed's own",
        "workloads/mine.py: saxpy stands in place of respeed's own",
    )
    told = study.run("respeed", "check").stdout
    assert told.startswith("\n".join(said) + "\nno mistake; looked at config.yaml, 32 hardware profiles")
    told = study.snakemake("-n", "--config", "preset=smoke").stdout
    assert all(f"\n  {line}\n" in told for line in said)
    # A class that only inherits what a workload must have is not silently measured in place of respeed's.
    inherits = "from respeed.workloads import workload\nfrom respeed.workloads.rbm import Rbm as Base\n\n\n"
    inherits += "@workload\nclass Rbm(Base):\n"
    (study.folder / "workloads/rbm.py").write_text(inherits + "    def numpy(self, a, row):\n        pass\n")
    told = study.run("respeed", "check", check=False).stdout
    assert "workloads/rbm.py: Rbm has no method arrays\n" in told
    for text in ("class Rbm(:\n", inherits + "    x: str\n"):
        (study.folder / "workloads/rbm.py").write_text(text)
        done = study.run("respeed", "check", check=False)
        assert (done.returncode, "workloads/rbm.py" in done.stdout, "Traceback" in done.stdout) == (1, True, False)
    shutil.copy(study.folder / "workloads/mine.py", study.folder / "workloads/rbm.py")
    line = "workloads/rbm.py: the workload saxpy is in mine.py as well; leave one of them out"
    assert line in study.run("respeed", "check", check=False).stdout
    (study.folder / "hardware/wrong.yaml").write_text("label: 3\n")
    told = study.run("respeed", "check", check=False).stdout
    assert "\nhardware/wrong.yaml: label: must be text, not 3\n" in told


def test_a_snakefile_elsewhere_names_its_study(study: Study, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    outside = Study(tmp_path / "elsewhere", study.site)
    done = outside.snakemake("--snakefile", str(study.folder / "Snakefile"), "-n", "--cores", "1", check=False)
    line = f"respeed: the study is {study.folder}, and its files are read only there: add --directory {study.folder}\n"
    assert (done.returncode, done.stdout.endswith(line)) == (2, True), done.stdout
    (study.folder / "papers/deep").mkdir()
    below = Study(study.folder / "papers/deep", study.site)
    line = f"respeed: results are those in {below.folder}, not those in {study.folder}\n"
    assert line in below.run("respeed", "check", check=False).stdout


def test_outside_a_study_nothing_is_written_into_the_package(study: Study, tmp_path: Path) -> None:
    outside = Study(tmp_path, study.site)
    done = outside.run("respeed", "new", "hardware", "mine", check=False)
    line = "respeed: new hardware: this folder is no study; make one with respeed init FOLDER, and go there\n"
    assert (done.returncode, done.stdout) == (2, line)
    done = study.run("respeed", "new", "backend", "mine", check=False)
    line = "respeed: new backend: it becomes a part of respeed; write it in a clone of respeed\n"
    assert (done.returncode, done.stdout) == (2, line)


def test_a_paper_is_read_from_anywhere(study: Study, tmp_path: Path) -> None:
    place = tmp_path / "their repository/paper-2031"
    told = study.run("respeed", "new", "paper", str(place)).stdout
    assert told == f"wrote {place}; once it is filled in: snakemake --cores all --config preset=smoke papers={place}\n"
    told = study.run("respeed", "check", str(place)).stdout
    assert told == f"no mistake; looked at {place}/paper.yaml\n"
    assert study.run("respeed", "check", "--show", f"{place}/").stdout.startswith("# A draft whose numbers are made up")
    relative = os.path.relpath(place, study.folder)
    study.edit("config.yaml", "papers: [raina2009, machine]", f"papers: [../{place.parent.name}/{place.name}]")
    assert relative == f"../{place.parent.name}/{place.name}"
    assert "paper-2031 products: " in study.snakemake("-n", "--config", "preset=smoke").stdout
    shutil.copytree(place, tmp_path / place.name)
    (place / "published.csv").write_text("no\n")
    done = study.snakemake("-n", check=False)
    assert (done.returncode, f"{place}/published.csv" in done.stdout) == (2, True), done.stdout
    twice = f"papers=../{place.name},../{place.parent.name}/{place.name}"
    done = study.run("respeed", "status", "--config", twice, check=False)
    assert (done.returncode, "has the same name; rename one of the two folders" in done.stdout) == (2, True)
    shutil.copytree(tmp_path / place.name, study.folder / "papers" / place.name)
    told = study.snakemake("-n", "--config", "preset=smoke", f"papers=../{place.name}").stdout
    assert f"\n  {tmp_path / place.name} stands in place of papers/{place.name}\n" in told
    done = study.run("respeed", "status", "--config", "papers=./nowhere", check=False)
    line = "respeed: ./nowhere: has no paper.yaml; respeed new paper ./nowhere writes one to start from\n"
    assert (done.returncode, done.stdout) == (2, line)


@pytest.mark.slow
def test_what_only_reads_runs_nothing_of_a_study(study: Study) -> None:
    (study.folder / "workloads/rbm.py").write_text("open('ran', 'w')\n\nclass Rbm(object):\n    pass\n")
    (study.folder / "respeed.py").write_text("open('ran', 'w')\n")
    (study.folder / "run").write_text("touch ran\n")
    assert "./run" not in study.run("respeed", "new", "machine", "yours").stdout
    for command in ("check", "doctor", "status", "claims", "report --only tables", "new machine mine"):
        study.run("respeed", *command.split(), check=False, CUDA_VISIBLE_DEVICES="")
    assert not (study.folder / "ran").exists()


@pytest.mark.slow
def test_a_study_measures_its_own_row_paper_and_program(study: Study, tmp_path: Path) -> None:
    """A study measures a row, a paper and a program of its own, by a wheel, and a later wheel goes on with it."""
    study.run("respeed", "new", "hardware", "my-row")
    study.run("respeed", "new", "workload", "spectra")
    place = tmp_path / "elsewhere/mine"
    study.run("respeed", "new", "paper", str(place))
    text = (place / "paper.yaml").read_text("utf-8")
    text = text.replace("workload: matmul", "workload: spectra").replace("{k: 256}", "{length: 256}")
    (place / "paper.yaml").write_text(re.sub("m: ([0-9]+), n: [0-9]+", r"batch: \1", text), "utf-8")
    study.edit("hardware/my-row.yaml", "backend: numpy", "backend: torch")
    study.run("git", "init", "-q")
    study.run("git", "add", ".")
    study.run("git", "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "first")
    commit = study.run("git", "rev-parse", "--short=12", "HEAD").stdout.strip()
    settings = ("preset=smoke", "papers=[../elsewhere/mine]", "profiles=[my-row,torch-1]")
    study.snakemake("--cores", "all", "--config", *settings)
    for record in (study.folder / "results/smoke/records").glob("*/*/*.jsonl"):
        assert json.loads(record.read_text("utf-8").splitlines()[0])["study"] == commit
    assert f",study,{commit}" in (study.folder / "results/smoke/tables/facts.csv").read_text("utf-8")
    pages = PdfReader(study.folder / "report/smoke.pdf").pages
    assert "./run" not in " ".join(page.extract_text() for page in pages)
    assert "./run" not in (study.folder / "results/smoke/tables.html").read_text("utf-8").replace("${run}", "")
    assert {path.parts[-2] for path in (study.folder / "results/smoke/records").glob("*/*/*.jsonl")} == {
        "my-row",
        "torch-1",
    }
    later = tmp_path / "later"
    shutil.copytree(study.site, later)
    (info,) = later.glob("respeed-*.dist-info")
    metadata = info / "METADATA"
    metadata.write_text(metadata.read_text("utf-8").replace("Version: 0.1.0", "Version: 0.2.0"), "utf-8")
    info.rename(info.with_name("respeed-0.2.0.dist-info"))
    told = Study(study.folder, later).snakemake("--cores", "all", "--config", *settings).stdout
    assert "nothing is due" in told
    told = Study(study.folder, later).run("respeed", "--version").stdout
    assert told == "respeed 0.2.0\n"
