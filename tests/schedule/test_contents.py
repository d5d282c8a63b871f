"""What the rules make, and what the HTML report calls it."""

from dataclasses import replace
from typing import Any

from respeed.inputs.papers import load_paper
from respeed.schedule.outputs import DRAWN, figure_files, table_files
from respeed.schedule.workflow import Workflow, resolve_workflow


def flag(path: str, **facts: Any) -> tuple[str, dict[str, Any]]:
    """As Snakemake's report()."""
    return path, facts


def labels(made: list[Any], ending: str) -> list[dict[str, str]]:
    return [one[1]["labels"] for one in made if isinstance(one, tuple) and one[0].endswith(ending)]


def renamed(title: str) -> Workflow:
    paper = load_paper("raina2009")
    experiments = {"one": replace(paper.experiments["rbm"], title=title)} | {
        f"{number}": paper.experiments["rbm"] for number in range(11)
    }
    return replace(resolve_workflow({}), papers={"raina2009": replace(paper, title=title, experiments=experiments)})


def test_files_are_listed_in_the_order_of_the_paper_by_their_titles() -> None:
    run = resolve_workflow({"machine": "box"})
    made = table_files(run, flag)
    titles = [labels(made, f"raina2009/{name}.html")[0]["Table"] for name in run.papers["raina2009"].experiments]
    assert titles == sorted(titles)
    assert titles[0] == "1 Densely connected RBM"
    assert labels(table_files(renamed("A"), flag), "/one.csv") == [{"Table": "01 A", "File": "one.csv"}]
    of_rbm = [{"Table": titles[0], "Shows": shows, "Machine": "box"} for shows in DRAWN.values()]
    assert [one for place in DRAWN for one in labels(figure_files(run, flag), f"rbm/box-{place}.svg")] == of_rbm


def test_a_title_with_braces_or_tags_is_a_text_to_snakemake_too() -> None:
    run = renamed("{x}</script>")
    flagged = [one for one in (*table_files(run, flag), *figure_files(run, flag)) if isinstance(one, tuple)]
    texts = [text for _, facts in flagged for text in (*facts["labels"].values(), facts["subcategory"] or "")]
    assert any("(x)" in text for text in texts)
    assert not any(set("{}<>") & set(text) for text in texts)
