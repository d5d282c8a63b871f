"""What is asked for: which cases on which rows, and the papers, machines and files that are shown."""

from collections.abc import Mapping

import pytest

from respeed.errors import UserError
from respeed.inputs.config import load_config
from respeed.inputs.papers import load_papers
from respeed.records import write_description
from respeed.schedule.rows import Row
from respeed.schedule.work import USUAL, Work, list_work
from respeed.shown import machines_shown, papers_shown
from tests.made import description, write_machines
from tests.schedule.measured import PROFILES, work

EVERY = {name: Row(profile, 1, ()) for name, profile in PROFILES.items()}
SETTINGS = {"papers": "raina2009", "profiles": "openblas-1"}


def work_of(rows: Mapping[str, Row] = EVERY, *, only: tuple[str, ...] = (), **settings: str) -> Work:
    """What is asked of a machine that can run these rows."""
    config = load_config(overrides=SETTINGS | settings)
    return list_work(config, load_papers(config.papers), rows, "box", only)


def tables_of(work: Work) -> set[str]:
    return {cell.experiment for one in work.wanted for cell in one.cells}


def test_a_presets_minutes_are_per_printing_paper() -> None:
    """A preset has its minutes for each paper that prints something."""
    quick = load_config().preset.minutes
    assert load_config().papers == ("raina2009", "machine")
    for papers, number in (("raina2009,machine", 1), ("bergstra2010,theano-tutorials", 2)):
        assert work_of(papers=papers).minutes == number * quick


def test_a_row_measures_only_what_it_runs() -> None:
    """A row is measured in the tables and cases that it runs."""

    def algorithms(profile: str) -> set[str]:
        return {one.case.workload for one in work(profiles=(profile,), experiments=("sparse-coding",)).wanted}

    assert tables_of(work(profiles=("gpu-bf16",))) == tables_of(work(profiles=("gpu",))) - {"sparse-coding"}
    assert algorithms("torch-all") - algorithms("torch-1") == {"sparse_parallel", "sparse_published"}
    assert work_of(papers="cnn-benchmarks").wanted == ()
    assert {one.profile for one in work_of(papers="cnn-benchmarks", profiles="openblas-1,torch-1").wanted} == {
        "torch-1"
    }


def test_a_shared_case_is_measured_once() -> None:
    """A case that several tables show is measured once and belongs to all of them."""
    found = work(profiles=("torch-1",)).wanted
    (shared,) = [one for one in found if one.case.workload == "rbm" and one.case.name == "4096x11008"]
    assert {cell.experiment for cell in shared.cells} == {"rbm", "dbn"}
    assert len({(one.profile, one.key) for one in found}) == len(found)


def test_only_measures_cells_by_words_or_name() -> None:
    """Only cells with one of the words in their names are measured and a whole name is of one."""

    def names(*words: str) -> set[str]:
        return {
            f"{cell.experiment}/{cell.case}/{one.case.workload}"
            for one in work_of(only=words).wanted
            for cell in one.cells
        }

    assert names("raina2009/rbm/4096x11008") == {"rbm/4096x11008/rbm"}
    assert {name.partition("/")[0] for name in names("rbm/576", "dbn")} == {"rbm", "dbn"}
    assert names("raina2009/rbm/4096", "nothing") == set()
    assert {name.partition("/")[0] for name in names("raina2009/rbm/")} == {"rbm"}
    programs = names("raina2009/sparse-coding/3-percent")
    assert len(programs) == 2
    for program in programs:
        assert names(f"raina2009/{program}") == {program}


def test_a_precision_table_is_measured_in_it() -> None:
    """A table of one precision is measured in it where no profile is named."""

    def precisions_in(**settings: str) -> dict[str, set[str]]:
        found = work_of(papers="check-blas,bergstra2010", **settings).wanted
        return {
            name: {one.row.profile.precision for one in found if any(cell.experiment == name for cell in one.cells)}
            for name in ("threads", "single-2000", "mlp")
        }

    asked = precisions_in(profiles="all")
    assert asked["threads"] == {"fp64"}
    assert "fp64" not in asked["single-2000"] | asked["mlp"]
    assert precisions_in(profiles="torch-1") == {"threads": set(), "single-2000": {"fp32"}, "mlp": {"fp32"}}


def test_what_is_named_does_not_wait() -> None:
    """Nothing waits that is named or where there is no accelerator or no minutes are set."""
    rows = ("torch-all", "gpu", "gpu-bf16")
    assert {one.tier > USUAL for one in work(minutes=1, profiles=rows, every=True).wanted} == {True, False}
    for asked in (
        work(minutes=1, profiles=rows, experiments=("rbm", "matmul")),
        work(minutes=1, every=True),
        work_of(papers="machine", profiles="torch-all,gpu"),  # nothing of it is printed
        work(minutes=0, profiles=rows, every=True),
    ):
        assert {one.tier > USUAL for one in asked.wanted} == {False}


def test_a_ladder_table_has_its_own_rows() -> None:
    """A table of a ladder runs on a row for each number of threads and on no other."""
    four = {"openblas-all": Row(PROFILES["openblas-all"], 4, (0, 2, 4, 6)), "torch-all": EVERY["torch-all"]}
    found = [one for one in work_of(four, papers="machine", profiles="openblas-all,torch-all").wanted if one.row.cpus]
    assert {one.profile for one in found if one.cells[0].experiment == "scaling"} == {
        f"openblas-all-t{count}" for count in (1, 2, 3, 4)
    }
    assert {one.profile for one in found if one.cells[0].experiment != "scaling"} == {"openblas-all"}
    assert not [one for one in work_of({}, papers="machine").wanted if one.cells[0].experiment == "scaling"]


# What is shown.


def test_an_unknown_paper_is_a_mistake() -> None:
    """A paper that there is not is a mistake and none left out."""
    with pytest.raises(UserError, match=r"no paper 'raina2008' \(did you mean raina2009\?\)"):
        papers_shown(smoke=False, chosen=["raina2009", "raina2008"])


def test_this_machine_is_shown_by_default() -> None:
    """This machine is shown others by name and all if it has no records."""
    write_machines(3, rounds=1)
    every = ["box-00", "box-01", "box-02"]
    assert machines_shown(False, "box-01") == ["box-01"]
    assert machines_shown(False, "elsewhere") == every
    assert machines_shown(False, "box-01", ["box-02", "this"]) == ["box-02", "box-01"]
    assert machines_shown(False, "box-01", ["all"]) == ["box-01", "box-00", "box-02"]
    assert machines_shown(False, "box-01", ["box-1", "this"]) == ["box-01"]
    write_description("planned", False, description())
    assert machines_shown(False, "planned") == ["planned", *every]
