"""From records to cells, speedups and the paper's own shape."""

import csv
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from respeed.estimators.rounds import collect_rounds
from respeed.estimators.speedup import confidence_among
from respeed.load.hardware import load_profiles
from respeed.load.papers import load_papers
from respeed.tables import cells, machines, speedups
from respeed.tables.cells import Cell
from respeed.tables.comparison import compare
from respeed.tables.numbers import format_measured, format_measured_speedup, format_number
from respeed.tables.published import make_published_table
from respeed.tables.speedups import Speedup, published_speedup
from respeed.tables.write import write_published, write_tidy

MakeRecord = Callable[..., dict[str, Any]]
PAPERS, PROFILES = load_papers(), load_profiles()
PAPER = PAPERS["raina2009"]
STEPS = 1_000_000 / 192
SHEET = {"box": {"hardware": {}, "not_measurable": {"gpu": "no CUDA device"}}}


def derive(records: Iterable[dict[str, Any]]) -> tuple[list[Cell], list[Speedup]]:
    rounds = collect_rounds(records)
    made = cells.make_cells(rounds, PAPERS, PROFILES, SHEET, smoke=False)
    return made, speedups.make_speedups(made, rounds, PAPERS)


def one(rows: list[Any], profile: str, case: str = "576x1024") -> Any:
    return next(row for row in rows if (row.experiment, row.profile, row.case) == ("rbm", profile, case))


def seven(make_record: MakeRecord, times: list[float], **facts: Any) -> list[dict[str, Any]]:
    return [make_record([time, time], index=index, **facts) for index, time in enumerate(times, start=1)]


GPU = {"profile": "gpu", "architecture": "gpu", "device": "cuda"}
ALL = {"profile": "torch-all", "architecture": "multi-cpu"}


def test_seconds_are_the_steps_of_a_million_examples_times_the_mean_step(make_record: MakeRecord) -> None:
    made, _ = derive(seven(make_record, [0.1] * 7))
    cell = one(made, "torch-1")
    assert cell.seconds == pytest.approx(0.1 * STEPS)
    assert cell.gflops == pytest.approx(10)  # 1e9 FLOP in 0.1 s
    assert (cell.status, cell.reason, cell.rounds, cell.published_seconds) == ("settled", "", 7, 563)


def test_seconds_rest_on_the_mean_and_speedups_on_the_median_of_a_round(make_record: MakeRecord) -> None:
    skewed = [make_record([0.1, 0.1, 0.4], index=index) for index in range(1, 8)]
    made, ratios = derive([*skewed, *seven(make_record, [0.05] * 7, **ALL)])
    assert one(made, "torch-1").seconds == pytest.approx(0.2 * STEPS)
    assert one(ratios, "torch-1").speedup == pytest.approx(0.5)


def test_every_cell_is_there_and_what_is_missing_says_why(make_record: MakeRecord) -> None:
    made, _ = derive(seven(make_record, [0.1] * 7))
    assert {(cell.profile, cell.case) for cell in made if cell.experiment == "rbm"} == {
        (profile.name, case.name)
        for profile in PROFILES.values()
        for case in PAPER.experiments["rbm"].cases
        if not profile.optional
    }
    assert (one(made, "gpu").status, one(made, "gpu").reason) == ("not-run", "no CUDA device")
    assert (one(made, "torch-all").status, one(made, "torch-all").reason) == ("not-run", "not measured yet")
    assert all(cell.reason for cell in made if cell.status in {"contaminated", "not-run", "failed"})
    assert all((cell.seconds is None) == (cell.status not in {"settled", "wide"}) for cell in made)


BF16 = {"profile": "cpu-bf16", "architecture": "multi-cpu", "precision": "bf16"}
GPU_BF16 = {"profile": "gpu-bf16", "architecture": "gpu", "device": "cuda", "precision": "bf16"}


def test_a_row_of_low_precision_has_a_speedup_and_is_never_the_base(make_record: MakeRecord) -> None:
    records = [
        *seven(make_record, [0.1] * 7),
        *seven(make_record, [0.01] * 7, **BF16),
        *seven(make_record, [0.002] * 7, **GPU),
        *seven(make_record, [0.001] * 7, **GPU_BF16),
    ]
    made, ratios = derive(records)
    assert {row.base_profile for row in ratios if row.speedup} == {"torch-1"}
    assert one(ratios, "cpu-bf16").speedup == pytest.approx(10)
    assert (one(ratios, "gpu-bf16").precision, one(ratios, "gpu-bf16").speedup) == ("bf16", pytest.approx(100))
    assert machines.fastest_rows(made)["raina2009", "rbm", "576x1024"]["box"].profile == "gpu"
    compared = compare(PAPER, PAPER.experiments["rbm"], made, ratios)
    assert compared is not None
    rows = dict(compared.rows)
    assert rows["Here: fastest CPU is"][0] == one(made, "torch-1").label
    assert rows["Here: speedup"][0].startswith("50")


def test_a_row_of_low_precision_alone_has_no_base(make_record: MakeRecord) -> None:
    _, ratios = derive(seven(make_record, [0.01] * 7, **BF16))
    assert (one(ratios, "cpu-bf16").verdict, one(ratios, "cpu-bf16").base_profile) == ("none", "")


def test_an_optional_profile_has_rows_only_where_it_was_measured(make_record: MakeRecord) -> None:
    without, _ = derive(seven(make_record, [0.1] * 7))
    assert "cpu-bf16" not in {cell.profile for cell in without}
    measured, _ = derive(seven(make_record, [0.1] * 7, **BF16))
    assert one(measured, "cpu-bf16").seconds


def test_a_table_says_of_a_program_in_which_precision_alone_it_runs(make_record: MakeRecord) -> None:
    made, _ = derive(seven(make_record, [0.001] * 7, **GPU_BF16))
    sparse = next(cell for cell in made if (cell.experiment, cell.profile) == ("sparse-coding", "gpu-bf16"))
    assert (sparse.status, sparse.reason) == ("not-run", "sparse_parallel runs in fp32 alone")


def test_the_paper_shaped_table_has_rows_of_low_precision_only_where_they_were_measured(
    make_record: MakeRecord,
) -> None:
    labels = []
    for records in (seven(make_record, [0.1] * 7), seven(make_record, [0.001] * 7, **GPU_BF16)):
        table = make_published_table(PAPER, PAPER.experiments["rbm"], *derive(records), smoke=False)
        labels.append([row.architecture for row in table.rows if "bf16" in row.architecture])
    assert labels[0] == []
    assert labels[1] == [PROFILES["gpu-bf16"].label]


def test_a_cell_shows_its_largest_error_of_all_rounds(make_record: MakeRecord) -> None:
    errors = ({"weights": 1e-6, "h0": 2e-6}, {"weights": 3e-6, "h0": None})
    made, _ = derive(make_record([0.1], index=index, errors=found) for index, found in enumerate(errors, start=1))
    assert one(made, "torch-1").error == 3e-6


def test_one_wrong_result_takes_the_time_of_the_cell_away(make_record: MakeRecord) -> None:
    wrong = make_record([], index=8, status="wrong", reason="wrong result: weights is off")
    made, ratios = derive([*seven(make_record, [0.1] * 7), wrong])
    assert (one(made, "torch-1").status, one(made, "torch-1").seconds) == ("failed", None)
    assert "wrong result" in one(ratios, "torch-1").reason


def test_a_cell_with_no_clean_block_is_contaminated_and_shows_no_time(make_record: MakeRecord) -> None:
    made, _ = derive(seven(make_record, [0.1] * 7, run_delay=0.1))
    cell = one(made, "torch-1")
    assert (cell.status, cell.seconds, cell.discarded) == ("contaminated", None, 7)
    assert cell.reason == "no clean block of 7: waited for a core in 7"


def test_a_round_with_slow_probes_does_not_count_whatever_its_times(make_record: MakeRecord) -> None:
    quiet = seven(make_record, [0.1] * 7)
    disturbed = make_record([0.05, 0.05], index=8, probe=1.5)  # faster than the others, discarded all the same
    made, _ = derive([*quiet, disturbed])
    cell = one(made, "torch-1")
    assert (cell.status, cell.rounds, cell.discarded) == ("settled", 7, 1)
    assert cell.seconds == pytest.approx(0.1 * STEPS)


def test_a_rate_above_what_the_machine_can_do_fails(make_record: MakeRecord) -> None:
    made, _ = derive(seven(make_record, [0.1] * 7, peak=0.9e10))  # the cell computes 1e10 FLOP/s
    cell = one(made, "torch-1")
    assert (cell.status, cell.seconds, cell.gflops) == ("failed", None, None)
    assert "111% of the highest rate" in cell.reason


def test_a_rate_is_shown_as_a_share_of_the_peak(make_record: MakeRecord) -> None:
    made, _ = derive(seven(make_record, [0.1] * 7, peak=2e10))
    assert one(made, "torch-1").peak_share == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("times", "settled", "reason"),
    [
        ([0.1] * 5, True, "an interval needs 6"),
        ([0.1, 0.13] * 4, True, "more rounds for an interval of"),
        ([0.1] * 7, False, "not settled"),
    ],
)
def test_a_number_that_is_not_settled_is_shown_and_says_what_is_missing(
    make_record: MakeRecord, times: list[float], settled: bool, reason: str
) -> None:
    made, _ = derive(seven(make_record, times, settled=settled))
    cell = one(made, "torch-1")
    assert cell.status == "wide"
    assert cell.seconds
    assert reason in cell.reason


def test_records_of_an_earlier_kind_of_measurement_do_not_mix_with_the_latest(make_record: MakeRecord) -> None:
    old = seven(make_record, [0.1] * 7, digest="old", started="2026-01-01T00:00:00+00:00")
    new = [make_record([0.2], index=1, digest="new", started="2026-01-02T00:00:00+00:00")]
    made, _ = derive([*old, *new])
    assert one(made, "torch-1").seconds == pytest.approx(0.2 * STEPS)


def test_the_base_is_the_fastest_cpu_row_and_never_the_gpu(make_record: MakeRecord) -> None:
    records = chain(
        seven(make_record, [0.1] * 7), seven(make_record, [0.06] * 7, **ALL), seven(make_record, [0.002] * 7, **GPU)
    )
    _, ratios = derive(records)
    assert {row.base_profile for row in ratios if row.speedup} == {"torch-all"}
    assert one(ratios, "torch-all").verdict == "base"
    assert one(ratios, "gpu").speedup == pytest.approx(30)
    assert one(ratios, "gpu").verdict == "faster"
    assert one(ratios, "gpu").published == pytest.approx(497 / 38.6)
    assert one(ratios, "torch-1").verdict == "slower"


def test_faster_is_not_said_of_an_interval_that_includes_one(make_record: MakeRecord) -> None:
    noisy = [0.06 * factor for factor in (0.97, 1.02, 0.99, 1.04, 1.01, 0.98, 1.03)]
    _, ratios = derive(chain(seven(make_record, [0.06] * 7, **ALL), seven(make_record, noisy)))
    row = one(ratios, "torch-1")
    assert row.speedup_low < 1 < row.speedup_high
    assert row.verdict in {"indistinguishable", "base"}


def test_drift_that_hits_all_profiles_alike_makes_no_speedup(make_record: MakeRecord) -> None:
    drift = [1, 1, 1.02, 1.1, 1.15, 1.08, 1]
    _, ratios = derive(
        chain(seven(make_record, [0.1 * d for d in drift], **ALL), seven(make_record, [0.01 * d for d in drift], **GPU))
    )
    row = one(ratios, "gpu")
    assert row.speedup == pytest.approx(10)
    assert row.speedup_low < 10 < row.speedup_high
    assert row.verdict == "faster"


def test_the_published_speedups_recompute_from_the_published_seconds() -> None:
    printed = {"576x1024": 12.9, "1024x4096": 16.2, "2304x16000": 68.0, "4096x11008": 72.6}
    for case, speedup in printed.items():
        assert published_speedup(PAPER, "rbm", case, "gpu") == pytest.approx(speedup, abs=0.05)


def test_the_paper_shaped_table_has_their_rows_ours_and_both_speedups(make_record: MakeRecord, tmp_path: Path) -> None:
    made, ratios = derive(chain(seven(make_record, [0.06] * 7, **ALL), seven(make_record, [0.002] * 7, **GPU)))
    table = make_published_table(PAPER, PAPER.experiments["rbm"], made, ratios, smoke=False)
    write_published(tmp_path, table, "")
    with (tmp_path / "rbm.csv").open() as file:
        rows = list(csv.DictReader(file))
    theirs = [row["576x1024"] for row in rows if row["source"] == "paper"]
    assert theirs == ["563", "497", "38.6", "12.9x"]
    assert "223,741" in [row["4096x11008"] for row in rows]
    ours = [row for row in rows if row["source"] == "box"]
    assert ours[-1]["576x1024"] == "30.0x ±0.1 %"
    assert all(value for row in ours for key, value in row.items() if "x" in key and key[0].isdigit())
    for ending in ("md", "tex"):
        assert "12.9x" in (tmp_path / f"rbm.{ending}").read_text()


def test_without_a_gpu_the_row_and_the_speedup_say_so(make_record: MakeRecord) -> None:
    made, ratios = derive(seven(make_record, [0.1] * 7))
    table = make_published_table(PAPER, PAPER.experiments["rbm"], made, ratios, smoke=False)
    missing = [row.values for row in table.rows if row.kind == "missing" and "GPU" in row.architecture]
    assert missing == [("not measured: no CUDA device",) * 4] * 2


def test_a_label_with_markup_in_it_stays_data(make_record: MakeRecord, tmp_path: Path) -> None:
    records = seven(make_record, [0.1] * 7, profile="evil")
    for record in records:
        record["profile"]["label"] = "a|b \\input{x} $x$ <b> *c* #let"
    made, ratios = derive(records)
    table = make_published_table(PAPER, PAPER.experiments["rbm"], made, ratios, smoke=False)
    write_published(tmp_path, table, "")
    assert "\\input{x}" not in (tmp_path / "rbm.tex").read_text()
    assert "a\\|b" in (tmp_path / "rbm.md").read_text()


def test_the_comparison_sets_this_cpu_against_theirs(make_record: MakeRecord) -> None:
    made, ratios = derive(seven(make_record, [0.1] * 7))
    mine = [cell for cell in made if cell.experiment == "rbm"]
    comparison = compare(PAPER, PAPER.experiments["rbm"], mine, ratios)
    assert comparison is not None
    rows = dict(comparison.rows)
    assert rows["CPU here over CPU there"][0] == f"{format_number(497 / (0.1 * STEPS))}x"
    assert "Here: GPU, seconds" not in rows


def test_tidy_tables_have_exactly_their_columns(make_record: MakeRecord, tmp_path: Path) -> None:
    made, ratios = derive(seven(make_record, [0.1] * 7))
    write_tidy(tmp_path / "cells.csv", cells.COLUMNS, made)
    write_tidy(tmp_path / "speedups.csv", speedups.COLUMNS, ratios)
    assert (tmp_path / "cells.csv").read_text().splitlines()[0] == (
        "machine,paper,experiment,case,algorithm,profile,architecture,package,precision,seconds,seconds_low,"
        "seconds_high,rounds,discarded,status,reason,gflops,peak_share,error,published_seconds,seconds_median,sessions,"
        "measured_in"
    )
    assert (tmp_path / "speedups.csv").read_text().splitlines()[0] == (
        "machine,paper,experiment,case,algorithm,profile,precision,base_algorithm,base_profile,speedup,speedup_low,"
        "speedup_high,published,verdict,reason,confidence"
    )


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (69.5, 67.4, 71.2, "69.5 ±3 %"),
        (69.5, 69.45, 69.6, "69.5 ±0.1 %"),
        (1376.0, 1300.0, 1380.0, "1,376 ±6 %"),
        (69.5, None, None, "69.5 (no interval)"),
        (None, None, None, ""),
    ],
)
def test_a_measured_number_carries_its_interval(
    value: float | None, low: float | None, high: float | None, text: str
) -> None:
    assert format_measured(value, low, high) == text
    assert format_measured_speedup(value, low, high) == text.replace(" ", "x ", 1)
    assert format_measured(value, low, high, bare=True) == text.split(" ", maxsplit=1)[0]


@pytest.mark.parametrize(
    ("value", "text"),
    [(38.6, "38.6"), (497.0, "497"), (223741.0, "223,741"), (0.00123456, "0.00123"), (9.999, "10.0"), (24.15, "24.1")],
)
def test_numbers_are_written_with_three_digits_and_no_exponent(value: float, text: str) -> None:
    assert format_number(value) == text


def test_machines_are_set_beside_the_fastest_of_all(make_record: MakeRecord) -> None:
    noise = (1.0, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998)
    records = [
        *seven(make_record, [0.1 * factor for factor in noise]),
        *seven(make_record, [0.02 * factor for factor in noise], machine="bigger", **ALL),
    ]
    rounds = collect_rounds(records)
    made = cells.make_cells(rounds, PAPERS, PROFILES, SHEET, smoke=False)
    rows = {row.machine: row for row in machines.compare_machines(made, rounds)}
    assert rows["bigger"].verdict == "base"
    assert rows["box"].base_machine == "bigger"
    assert rows["box"].speedup == pytest.approx(0.2)
    assert rows["box"].speedup_low < 0.2 < rows["box"].speedup_high
    assert rows["box"].verdict == "slower"


def test_a_machine_alone_is_compared_with_none(make_record: MakeRecord) -> None:
    rounds = collect_rounds(seven(make_record, [0.1] * 7))
    assert machines.compare_machines(cells.make_cells(rounds, PAPERS, PROFILES, SHEET, smoke=False), rounds) == []


def test_a_round_that_could_not_run_is_a_missing_round_and_no_more(make_record: MakeRecord) -> None:
    killed = make_record([], index=8, status="failed", reason="the measuring process was killed")
    made, _ = derive([*seven(make_record, [0.1] * 7), killed])
    assert (one(made, "torch-1").status, one(made, "torch-1").rounds) == ("settled", 7)
    made, _ = derive([killed])
    assert (one(made, "torch-1").status, one(made, "torch-1").reason) == ("failed", "the measuring process was killed")


def test_a_case_that_was_measured_at_other_parameters_shows_no_time(make_record: MakeRecord) -> None:
    made, _ = derive(seven(make_record, [0.1] * 7, changed={"batch": 96}))
    assert (one(made, "torch-1").status, one(made, "torch-1").seconds) == ("not-run", None)
    assert "other parameters" in one(made, "torch-1").reason


def test_rounds_of_another_version_of_the_library_are_not_mixed_in(make_record: MakeRecord) -> None:
    old = seven(make_record, [0.1] * 7, package="torch 1", started="2026-01-01T00:00:00+00:00")
    new = [make_record([0.2, 0.2], index=index, started="2026-01-02T00:00:00+00:00") for index in range(8, 15)]
    made, _ = derive([*old, *new])
    assert (one(made, "torch-1").seconds, one(made, "torch-1").rounds) == (pytest.approx(0.2 * STEPS), 7)


NOISE = (1.0, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998)
LATER = "2026-02-01T00:00:00+00:00"


def test_a_day_that_was_slow_for_all_makes_no_speedup(make_record: MakeRecord) -> None:
    """Two days, three rounds of the base on the first and seven on the second, the row the other way round: rounds of
    two days beside one another would say that the row is faster."""
    records = []
    for profile, counts in ((ALL, (4, 7)), ({}, (7, 4))):
        for day, count, slow in ((None, counts[0], 1.0), (LATER, counts[1], 1.2)):
            started = {"started": day} if day else {}
            for number, noise in enumerate(NOISE[:count]):
                index = 1 + number + 10 * bool(day)
                records.append(make_record([0.1 * slow * noise] * 2, index=index, **profile, **started))
    _, ratios = derive(records)
    row = next(row for row in ratios if row.speedup and row.verdict != "base")
    assert row.verdict == "indistinguishable"
    assert row.speedup == pytest.approx(1, abs=0.01)
    assert row.speedup_high - row.speedup_low < 0.05


def test_rows_of_two_sessions_that_share_none_say_so(make_record: MakeRecord) -> None:
    base = seven(make_record, [0.1 * noise for noise in NOISE], **ALL)
    row = seven(make_record, [0.2 * noise for noise in NOISE], started=LATER)
    _, ratios = derive([*base, *row])
    assert one(ratios, "torch-1").reason == "compared with rounds of another session"
    assert one(ratios, "torch-1").verdict == "slower"


def test_a_fast_day_does_not_make_the_rounds_of_a_slow_one_vanish(make_record: MakeRecord) -> None:
    """What is quiet is known within a session alone."""
    slow = seven(make_record, [0.1] * 7, probe=1.3)
    fast = [make_record([0.08] * 2, index=10 + n, started=LATER) for n in range(7)]
    for records in ([*slow, *fast], [*fast, *slow]):
        cell = one(derive(records)[0], "torch-1")
        assert (cell.rounds, cell.discarded, cell.sessions) == (14, 0, 2)


def test_the_share_of_the_peak_is_over_the_peak_of_its_own_session(make_record: MakeRecord) -> None:
    """A day on which the whole machine was half as fast: as near to its peak as the other."""
    fast = seven(make_record, [0.1] * 7, peak=2e10)
    slow = [make_record([0.2] * 2, index=10 + n, started=LATER, peak=1e10) for n in range(7)]
    assert one(derive([*fast, *slow])[0], "torch-1").peak_share == pytest.approx(0.5)


def test_rows_that_are_equally_fast_share_the_first_place(make_record: MakeRecord) -> None:
    """37.0 against 38.6 with intervals of 6 %: neither is the fastest CPU row alone."""
    wide = (1.0, 1.08, 0.94, 1.05, 0.96, 1.03, 0.97)
    records = [
        *seven(make_record, [0.0370 * noise for noise in wide], **ALL),
        *seven(make_record, [0.0386 * noise for noise in reversed(wide)]),
        *seven(make_record, [0.0800 * noise for noise in wide], profile="openblas-1"),
    ]
    made, ratios = derive(records)
    compared = compare(PAPER, PAPER.experiments["rbm"], made, ratios)
    assert compared is not None
    labels = [one(made, name).label for name in ("torch-all", "torch-1")]
    assert dict(compared.rows)["Here: fastest CPU is"][0] == " or ".join(labels)


def test_the_more_rivals_the_surer_must_one_be_to_be_called_slower() -> None:
    levels = [confidence_among(rivals) for rivals in (1, 2, 3, 4, 8, 20)]
    assert levels[0] == levels[2] == pytest.approx(0.97, abs=0.001)
    assert levels == sorted(levels)
    # Of 20 rows that are equally fast, each of the other 19 beats one by luck in (1 - level) / 2.
    assert 19 * (1 - levels[-1]) / 2 <= 0.03


def test_a_process_that_never_started_does_not_hide_the_rounds_that_did(make_record: MakeRecord) -> None:
    dead = make_record([], index=8, status="failed", reason="exit code 1", started="2026-01-02T00:00:00+00:00")
    del dead["provenance"]["backend"]
    made, _ = derive([*seven(make_record, [0.1] * 7), dead])
    assert (one(made, "torch-1").status, one(made, "torch-1").rounds) == ("settled", 7)


def test_why_rounds_are_missing_is_said_beside_how_many(make_record: MakeRecord) -> None:
    killed = make_record([], index=8, status="failed", reason="the measuring process was killed")
    made, _ = derive([*seven(make_record, [0.1] * 4), killed])
    assert one(made, "torch-1").reason == "4 clean rounds; an interval needs 6; the measuring process was killed"
