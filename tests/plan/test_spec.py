"""What decides a measurement."""

import json
from dataclasses import asdict, replace

import pytest

from respeed.model.errors import UserError
from respeed.model.round import RoundId
from respeed.plan.spec import make_spec, measurement_digest, specs_from_json

ROUND = RoundId("box", "raina2009", "rbm", "torch-1", 1)


def test_a_specification_survives_json() -> None:
    spec = make_spec(replace(ROUND, whole=True), seed=3)
    assert specs_from_json(json.dumps([asdict(spec)])) == [spec]


def test_a_label_or_another_core_does_not_change_what_is_measured() -> None:
    spec = make_spec(ROUND, seed=3)
    relabelled = replace(spec, profile=replace(spec.profile, label="other"), cpus=(7,), id=replace(spec.id, index=2))
    assert measurement_digest(spec) == measurement_digest(relabelled)


def test_a_seed_a_size_or_a_thread_does() -> None:
    spec = make_spec(ROUND, seed=3)
    others = [make_spec(ROUND, seed=4), replace(spec, cases=spec.cases[1:]), replace(spec, threads=2)]
    assert measurement_digest(spec) not in {measurement_digest(other) for other in others}


def test_a_whole_run_counts_every_mini_batch_of_a_million_examples() -> None:
    assert set(make_spec(replace(ROUND, whole=True), seed=1).whole_steps) == {5209}


def test_an_experiment_that_does_not_exist_is_named_with_its_nearest() -> None:
    with pytest.raises(UserError, match=r"did you mean rbm\?"):
        make_spec(replace(ROUND, experiment="rbn"), seed=1)
