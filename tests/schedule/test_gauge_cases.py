"""What a hardware sheet is made of, on machines that are not here."""

from respeed.inputs.profiles import load_profile
from respeed.paths import check_name
from respeed.schedule.gauge import plan_gauge, rate_cases


def test_a_backend_that_is_measured_only_where_it_is_named_is_not_in_the_sheet() -> None:
    assert load_profile("jax-1").optional
    gauge = plan_gauge("box", smoke=False)
    specs = [*gauge.often, *gauge.once, *(spec for spec, _ in gauge.absent)]
    backends = {spec.profile.backend for spec in specs}
    assert "torch" in backends
    assert "jax" not in backends


def test_every_case_of_a_gpu_has_a_name_that_a_record_may_have() -> None:
    names = [case.name for case in rate_cases("torch", "cuda", "fp32", 2)]
    assert {"to-pinned", "from-pageable"} <= set(names)
    for name in names:
        check_name("case", name, "sheet")
