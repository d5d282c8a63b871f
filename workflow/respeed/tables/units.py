"""Times in the unit that a paper prints its table in."""

from collections.abc import Callable, Mapping

from respeed.model.paper import Experiment
from respeed.model.unit import Unit
from respeed.tables.cells import Cell
from respeed.tables.spread import Spread, change_spread


def in_unit(cell: Cell, unit: Unit) -> tuple[float | None, float | None, float | None]:
    """A cell's time with its interval in a table's unit. The interval of a rate is that of its time, turned round."""
    value, low, high = (
        unit.value(seconds, cell.amount) if seconds else None
        for seconds in (cell.seconds, cell.seconds_low, cell.seconds_high)
    )
    return (value, high, low) if unit.counted else (value, low, high)


def words_of_unit(experiment: Experiment) -> str:
    """What the numbers of a table are: seconds for 1,000,000 examples, milliseconds a step, examples a second."""
    name = experiment.unit.name
    if experiment.unit.counted:
        return name
    if experiment.case_examples:
        return f"{name} for a whole run of each case"
    return f"{name} for {experiment.examples:,} examples" if experiment.examples else f"{name} a step"


def _converter(unit: Unit, amount: float | None) -> Callable[[float], float]:
    return lambda seconds: unit.value(seconds, amount) or 0.0


def spreads_in_unit(spreads: Mapping[str, Spread], unit: Unit, amounts: Mapping[str, float]) -> dict[str, Spread]:
    """How far the times of many machines lie apart, in a table's unit; by case."""
    return {
        case: change_spread(one, _converter(unit, amounts.get(case)), unit.name)
        for case, one in spreads.items()
        if unit.counted is None or case in amounts
    }
