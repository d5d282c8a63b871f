"""By a model of a fast accelerator the preset's minutes hold."""

import pytest
from accelerator_plan import options, simulate


@pytest.mark.parametrize("words", [[], ["--tflops", "8", "--cores", "4"]])
def test_a_first_table_is_there_after_three_minutes_and_a_quick_run_is_done_after_twelve(words: list[str]) -> None:
    run = simulate(options(words))
    assert 0 < run.first_table < 180
    assert run.seconds <= 1.05 * run.plan.work.seconds
    assert run.seconds / 1.5 <= run.told <= 1.5 * run.seconds
    spare = {cell for group in run.plan.work.spare for cell in group}
    assert {run.plan.attempts(cell) for cell in run.plan.work.cells if cell not in spare} == {6}
