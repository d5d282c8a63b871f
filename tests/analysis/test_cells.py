"""From records to cells."""

import pytest

from respeed.analysis.cells import judge_cells, make_cells
from respeed.analysis.columns import rows_of
from respeed.analysis.rounds import read_rounds
from respeed.inputs.profiles import other_library
from tests.derived import ALL, BF16, GPU_BF16, PAPER, PAPERS, PROFILES, STEPS, MakeRecord, derive, one, seven


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
        if not profile.optional and not other_library(profile, {})
    }
    assert (one(made, "gpu").status, one(made, "gpu").reason) == ("not-run", "no CUDA device")
    assert (one(made, "torch-all").status, one(made, "torch-all").reason) == ("not-run", "not measured yet")
    assert all(cell.reason for cell in made if cell.status in {"contaminated", "not-run", "failed"})
    assert all((cell.seconds is None) == (cell.status not in {"settled", "wide"}) for cell in made)


def test_an_optional_profile_has_rows_only_where_it_was_measured(make_record: MakeRecord) -> None:
    without, _ = derive(seven(make_record, [0.1] * 7))
    assert "cpu-bf16" not in {cell.profile for cell in without}
    measured, _ = derive(seven(make_record, [0.1] * 7, **BF16))
    assert one(measured, "cpu-bf16").seconds


def test_a_machine_has_rows_of_the_blas_that_its_scipy_computes_with_and_of_what_was_measured(
    make_record: MakeRecord,
) -> None:
    rounds = read_rounds(seven(make_record, [0.1] * 7, profile="mkl-1"))
    sheets = {"box": {"hardware": {"blas": "accelerate"}, "not_measurable": {}}}
    made = make_cells(rounds, PAPERS, PROFILES, sheets, smoke=False)
    assert set(made.loc[made["is_cpu"], "profile"]) == {
        "accelerate-1",
        "accelerate-all",
        "mkl-1",
        "torch-1",
        "torch-all",
    }


def test_a_row_that_ran_on_other_cpus_than_its_file_says_now_is_shown_as_it_ran(make_record: MakeRecord) -> None:
    records = seven(make_record, [0.1] * 7)
    for record in records:
        record["profile"] |= {"cpus": "socket 1", "smt": False}
    assert one(derive(records)[0], "torch-1").label == "label of torch-1"
    for record in records:
        record["profile"] |= {"cpus": None}
    assert one(derive(records)[0], "torch-1").label == PROFILES["torch-1"].label


def test_a_table_says_of_a_program_in_which_precision_alone_it_runs(make_record: MakeRecord) -> None:
    made, _ = derive(seven(make_record, [0.001] * 7, **GPU_BF16))
    sparse = next(cell for cell in made if (cell.experiment, cell.profile) == ("sparse-coding", "gpu-bf16"))
    assert (sparse.status, sparse.reason) == ("not-run", "sparse_parallel runs in fp32 alone")


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


@pytest.mark.parametrize(
    ("times", "rounds"), [([0.1], "1 round"), ([0.1, 0.1, 0.1], "3 rounds"), ([0.1, 0.2] + [0.09] * 5, "7 rounds")]
)
def test_a_rate_above_what_the_machine_can_do_that_noise_may_explain_shows_no_time_and_is_not_called_wrong(
    make_record: MakeRecord, times: list[float], rounds: str
) -> None:
    made, _ = derive(seven(make_record, times, peak=0.9e10))
    cell = one(made, "torch-1")
    assert (cell.status, cell.seconds, cell.gflops) == ("contaminated", None, None)
    assert cell.reason.endswith(f"{rounds} cannot tell whether that is noise or a mistake")


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


def test_a_process_that_never_started_does_not_hide_the_rounds_that_did(make_record: MakeRecord) -> None:
    dead = make_record([], index=8, status="failed", reason="exit code 1", started="2026-01-02T00:00:00+00:00")
    del dead["provenance"]["backend"]
    made, _ = derive([*seven(make_record, [0.1] * 7), dead])
    assert (one(made, "torch-1").status, one(made, "torch-1").rounds) == ("settled", 7)


def test_why_rounds_are_missing_is_said_beside_how_many(make_record: MakeRecord) -> None:
    killed = make_record([], index=8, status="failed", reason="the measuring process was killed")
    made, _ = derive([*seven(make_record, [0.1] * 4), killed])
    assert one(made, "torch-1").reason == "4 clean rounds; an interval needs 6; the measuring process was killed"


def test_what_was_only_run_whole_is_no_cell_yet(make_record: MakeRecord) -> None:
    (cell,) = rows_of(judge_cells(read_rounds([make_record([100.0], whole=True)])))
    assert (cell.status, cell.reason, cell.step) == ("not-run", "only run whole, in no round yet", None)


def test_a_session_without_a_clean_block_is_none_that_measured_the_cell(make_record: MakeRecord) -> None:
    disturbed = make_record([0.1] * 2, index=8, run_delay=1.0, started="2026-01-02T00:00:00+00:00")
    made, _ = derive([*seven(make_record, [0.1] * 7), disturbed])
    cell = one(made, "torch-1")
    assert (cell.rounds, cell.sessions, cell.discarded) == (7, 1, 1)


def test_a_cell_says_what_its_seconds_are_of(make_record: MakeRecord) -> None:
    made, _ = derive(seven(make_record, [0.1] * 7))
    cell = one(made, "torch-1")
    assert (cell.work, cell.algorithm, cell.steps) == ("1,000,000 examples", "rbm", pytest.approx(STEPS))
    assert (cell.flops, cell.traffic_bytes) == pytest.approx((1e9 * STEPS, 1e6 * STEPS))
    assert {row.work for row in made if row.experiment == "matmul"} == {"a step", "a step of 192 examples"}


def test_without_records_there_are_no_cells() -> None:
    assert make_cells(read_rounds([]), PAPERS, PROFILES, {}, smoke=False).empty
