"""What the HTML report calls its files."""

from dataclasses import replace

from respeed.inputs.papers import load_paper
from respeed.schedule.contents import label_experiment, label_paper
from respeed.schedule.workflow import Workflow, load_workflow


def renamed(title: str) -> Workflow:
    paper = load_paper("raina2009")
    experiments = {"one": replace(paper.experiments["rbm"], title=title)} | {
        f"{number}": paper.experiments["rbm"] for number in range(11)
    }
    return replace(load_workflow({}), papers={"raina2009": replace(paper, title=title, experiments=experiments)})


def test_files_are_listed_in_the_order_of_the_paper_by_their_titles() -> None:
    run = load_workflow({})
    titles = [label_experiment(run, "raina2009", name)["Table"] for name in run.papers["raina2009"].experiments]
    assert titles == sorted(titles)
    assert titles[0] == "1 Densely connected RBM"
    assert label_experiment(renamed("A"), "raina2009", "one", Machine="box") == {"Table": "01 A", "Machine": "box"}


def test_a_title_with_braces_or_tags_is_a_text_to_snakemake_too() -> None:
    for text in (
        *label_experiment(run := renamed("{x}</script>"), "raina2009", "one").values(),
        label_paper(run, "raina2009"),
    ):
        assert not set("{}<>") & set(text)
