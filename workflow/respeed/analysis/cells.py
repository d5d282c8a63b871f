"""results/tables/cells.csv: every case of every paper on every profile of every machine, measured or not."""

from respeed.model.paper import Case, Experiment


def describe_work(experiment: Experiment, case: Case) -> str:
    """What the seconds of a case are of, in words."""
    examples = experiment.case_examples.get(case.name, experiment.examples)
    if examples:
        return f"{examples:,} examples"
    batch = case.parameters.get("batch")
    return f"a step of {batch:,} examples" if batch else "a step"
