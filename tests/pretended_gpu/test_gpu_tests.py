"""The tests that need a GPU, on the pretended one, in a process of its own."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pretended_gpu.build import CannotBuildError, build
from tests.pretended_gpu.environment import ORDERS
from tests.pretended_gpu.inner import run_tests

ALL = ("tests/conformance", "tests/pretended_gpu/test_device.py", "tests/pretended_gpu/test_timed.py")
# Ten steps of these take as long as all other tests together.
LONG = ("convnet", "data_parallel", "sparse_parallel", "sparse_published")
WITHOUT_LONG = ("-k", f"not (ten_steps and ({' or '.join(LONG)}))")

pytestmark = pytest.mark.usefixtures("pretended")
Record = Callable[[str, object], None]


def test_the_tests_that_need_a_gpu_pass_on_the_pretended_one(record_property: Record) -> None:
    check("lazy", ALL, WITHOUT_LONG, record_property)


@pytest.mark.slow
@pytest.mark.parametrize("order", [*ORDERS, "random"])
def test_all_tests_that_need_a_gpu_pass_on_the_pretended_one_in_every_order(
    order: str, record_property: Record
) -> None:
    check(order, ALL, (), record_property)


def check(order: str, tests: tuple[str, ...], chosen: tuple[str, ...], record_property: Record) -> None:
    found = run_tests(*tests, order=order, options=("-m", "gpu and not slow" if chosen else "gpu", *chosen))
    record_property("pretended GPU", f"{order}: {found}")
    assert not found.failed, found.output[-20000:]
    assert found.passed


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a folder of another user, which only root may")
def test_a_library_that_another_user_put_where_it_is_built_is_not_preloaded(
    pretended: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    his = tmp_path / pretended.parent.name
    (his / pretended.name).mkdir(parents=True)
    os.chown(his, 65534, 65534)
    with pytest.raises(CannotBuildError, match=f"{his} belongs to "):
        build()
