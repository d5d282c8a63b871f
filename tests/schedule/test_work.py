"""What a configuration asks for, of several papers."""

from dataclasses import replace

from respeed.inputs.config import Preset, load_config
from respeed.inputs.papers import load_papers
from respeed.inputs.profiles import load_profiles
from respeed.schedule.selection import Work, make_work


def work_of(*papers: str) -> Work:
    preset = Preset("test", rounds=1, most=1, minutes=2, sizes="paper", whole=False)
    config = replace(load_config(), preset=preset, papers=papers, profiles=("torch-1",))
    return make_work(config, load_papers(papers), load_profiles(), "box")


def test_a_preset_has_its_minutes_for_each_paper() -> None:
    assert work_of("bergstra2010").seconds == 120
    assert work_of("bergstra2010", "theano-tutorials").seconds == 240


def test_a_case_is_left_to_the_backends_that_offer_what_it_asks_for() -> None:
    assert {cell.profile for cell in work_of("cnn-benchmarks").cells} == {"torch-1"}
    config = replace(load_config(), papers=("cnn-benchmarks",), profiles=("openblas-1",))
    assert make_work(config, load_papers(["cnn-benchmarks"]), load_profiles(), "box").cells == ()


def test_the_default_run_is_the_first_paper_alone() -> None:
    assert load_config().papers == ("raina2009",)
