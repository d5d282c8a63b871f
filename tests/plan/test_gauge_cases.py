"""What a hardware sheet is made of, on machines that are not here."""

from respeed.model.names import check_name
from respeed.plan.gauge_cases import rate_cases


def test_every_case_of_a_gpu_has_a_name_that_a_record_may_have() -> None:
    names = [case.name for case in rate_cases("torch", "cuda", "fp32", 2)]
    assert {"to-pinned", "from-pageable"} <= set(names)
    for name in names:
        check_name("case", name, "sheet")
