"""What decides a measurement."""

import hashlib
import json
from dataclasses import asdict, replace

import pytest

from respeed.cli.measure import parse_duration
from respeed.errors import UserError
from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import load_profile
from respeed.machine.cpu import usable_cores
from respeed.paths import RoundId
from respeed.schedule.spec import RoundSpec, current_digests, make_spec, order_from_json
from respeed.text import in_words

ROUND = RoundId("box", "raina2009", "rbm", "torch-1", 1)


def test_a_specification_survives_json() -> None:
    spec = make_spec(replace(ROUND, whole=True), seed=3)
    order = json.dumps({"specs": [asdict(spec)], "probes": [0.1]})
    assert order_from_json(order) == ([spec], [0.1])


def test_a_label_or_another_round_does_not_change_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = make_spec(ROUND, seed=3)
    assert make_spec(replace(ROUND, index=2, machine="other"), seed=3).digest == spec.digest
    relabelled = replace(spec.profile, label="other", architecture="multi-cpu")
    monkeypatch.setattr("respeed.schedule.spec.load_profile", lambda name: relabelled)
    assert make_spec(ROUND, seed=3).digest == spec.digest


def with_profile(monkeypatch: pytest.MonkeyPatch, **keys: object) -> RoundSpec:
    changed = replace(load_profile(ROUND.profile), **keys)  # type: ignore[arg-type]
    monkeypatch.setattr("respeed.schedule.spec.load_profile", lambda name: changed)
    return make_spec(ROUND, seed=3)


def test_keys_that_a_profile_leaves_out_leave_its_digest_as_it_was_before_there_were_any() -> None:
    spec = make_spec(ROUND, seed=3)
    facts = asdict(spec)
    kept = ("name", "backend", "device", "threads", "precision")
    facts["profile"] = {key: facts["profile"][key] for key in kept}
    for key in ("id", "cpus", "rehearsals", "digest"):
        del facts[key]
    assert spec.digest == hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def test_which_cpus_a_profile_names_decides_what_is_measured_and_what_it_requires_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = min(usable_cores())
    plain = make_spec(ROUND, seed=3)
    required = with_profile(monkeypatch, requires={"memory_gb": 0.1})
    bound = with_profile(monkeypatch, cpus=str(first))
    assert required.digest == plain.digest != bound.digest
    assert bound.cpus == (first,)
    assert order_from_json(json.dumps({"specs": [asdict(bound)], "probes": []})) == ([bound], [])


def test_a_round_of_some_of_the_cases_is_of_the_same_measurement() -> None:
    spec = make_spec(ROUND, seed=3)
    part = make_spec(ROUND, 3, spec.cases[1:2])
    assert part.cases == spec.cases[1:2]
    assert part.digest == spec.digest
    assert make_spec(replace(ROUND, whole=True), 3, spec.cases[1:2]).whole_steps == (5209,)
    assert current_digests(3, load_papers(["raina2009"]))("raina2009", "rbm", "torch-1", False, False) == spec.digest


def test_a_seed_a_size_or_a_thread_does(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = make_spec(ROUND, seed=3)
    assert make_spec(ROUND, seed=4).digest != spec.digest
    assert make_spec(replace(ROUND, smoke=True), seed=3).digest != spec.digest
    monkeypatch.setattr("respeed.schedule.spec.resolve_threads", lambda profile: (2, (0, 1)))
    assert make_spec(ROUND, seed=3).digest != spec.digest


def test_a_whole_run_counts_every_mini_batch_of_a_million_examples() -> None:
    assert set(make_spec(replace(ROUND, whole=True), seed=1).whole_steps) == {5209}


def test_an_experiment_that_does_not_exist_is_named_with_its_nearest() -> None:
    with pytest.raises(UserError, match=r"did you mean rbm\?"):
        make_spec(replace(ROUND, experiment="rbn"), seed=1)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15min", 900), ("15 min", 900), ("1.5h", 5400)])
def test_a_duration_is_a_number_and_a_unit(text: str, seconds: float) -> None:
    assert parse_duration(text, "--budget") == seconds


@pytest.mark.parametrize("text", ["", "15", "15m", "0s", "-3s", "nan h", "1e3s", "min"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(UserError, match="--budget"):
        parse_duration(text, "--budget")


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "1 s"), (89, "89 s"), (600, "10 min"), (9000, "2.5 h")])
def test_an_estimate_is_said_coarsely(seconds: float, text: str) -> None:
    assert in_words(seconds) == text
