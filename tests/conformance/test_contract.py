"""What workloads ask for and backends offer: neither more nor less than they say."""

from typing import Any, get_type_hints

import pytest

from respeed.backends import REQUIRED, BackendContract, Facts, Required
from respeed.inputs.registry import backends, workloads
from respeed.measure.case import TOLERANCE
from tests.conformance.programs import WORKLOADS, Place, build, case_of, make, places, programs


def members(protocol: type) -> set[str]:
    found = {name for part in protocol.__mro__ for name in (*vars(part), *getattr(part, "__annotations__", ()))}
    return {name for name in found if not name.startswith("_")}


class Listening:
    """A backend that remembers what it was asked for."""

    def __init__(self, backend: BackendContract) -> None:
        self._backend, self._asked = backend, set[str]()

    def __getattr__(self, name: str) -> Any:
        self._asked.add(name)
        return getattr(self._backend, name)


at_all_places = pytest.mark.parametrize("place", places())


def test_the_required_names_are_the_members_of_the_required_part_of_the_contract() -> None:
    assert set(REQUIRED) == members(Required)


@pytest.mark.parametrize("name", backends())
def test_what_a_backend_offers_stands_in_the_contract(name: str) -> None:
    assert set(backends()[name].offers) <= members(BackendContract)
    assert len(backends()[name].offers) == len(set(backends()[name].offers))


@at_all_places
def test_what_a_backend_offers_is_there(place: Place) -> None:
    made = make(*place)
    assert [each for each in backends()[place.backend].offers if not hasattr(made, each)] == []


@at_all_places
def test_a_backend_says_of_itself_what_every_backend_must(place: Place) -> None:
    facts: Any = make(*place).describe()
    for key, kind in get_type_hints(Facts).items():
        assert isinstance(facts.get(key), kind), f"{key}: {facts.get(key)!r}"
        assert facts[key], key
    assert (facts["device"], facts["precision"]) == place[1:]


@pytest.mark.parametrize("name", backends())
def test_every_precision_of_a_backend_has_a_tolerance(name: str) -> None:
    assert set(backends()[name].precisions) <= set(TOLERANCE)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_what_a_workload_asks_for_stands_in_the_contract_and_some_backend_offers_it(workload: str) -> None:
    assert set(workloads()[workload].asks) <= members(BackendContract)
    assert workloads()[workload].backends


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_test_cases_of_a_workload_give_its_parameters(workload: str) -> None:
    kinds, cases = workloads()[workload].parameters, workloads()[workload].tests
    assert set(cases) == {"smoke", "odd", "large"}
    for parameters in cases.values():
        assert parameters.keys() == kinds.keys()
        for name, value in parameters.items():
            if isinstance(allowed := kinds[name], tuple):
                assert value in allowed
            else:
                assert isinstance(value, {"whole": int, "real": (int, float), "any": object}[allowed])


@pytest.mark.parametrize(
    ("place", "case"),
    programs(
        [case_of(workload, size) for workload in WORKLOADS for size in ("smoke", "odd", "large")],
        places("fp32", on="cpu"),
    ),
)
def test_a_workload_asks_for_nothing_but_what_it_says(place: Place, case: Any) -> None:
    made: Any = Listening(make(*place))
    program = build(made, case)
    for _ in range(2):
        program.step()
    program.state()
    assert made._asked <= {*REQUIRED, *workloads()[case.workload].asks}
