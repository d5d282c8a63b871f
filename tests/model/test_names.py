"""What may be a name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snakemake.io import PeriodicityDetector

from respeed.errors import UserError
from respeed.paths import check_name


@given(
    st.one_of(
        st.from_regex(r"[a-c0_-]{1,64}", fullmatch=True), st.builds(str.__mul__, st.text("ab-"), st.integers(1, 64))
    )
)
def test_a_name_is_one_that_snakemake_takes_for_a_wildcard(name: str) -> None:
    try:
        check_name("machine", name, "here")
    except UserError:
        return
    assert PeriodicityDetector().is_periodic(name) is None


@pytest.mark.parametrize("name", ["a" * 64, "x" + "ab" * 20, "box-" + "0" * 20])
def test_a_name_that_says_the_same_again_and_again_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="the same 20 times"):
        check_name("machine", name, "config.yaml: machine")


@pytest.mark.parametrize("name", ["../../x", "x;touch y", "A", "a" * 65, "", "-a", "a\n", "à", "a/b", "a.b"])
def test_a_name_is_no_path_and_no_command(name: str) -> None:
    with pytest.raises(UserError, match="cannot be the name of a machine"):
        check_name("machine", name, "config.yaml: machine")


def test_a_name_may_have_64_letters() -> None:
    name = "abcdefghijklmnopqrstuvwxyz0123456789-_" + "zyxwvutsrqponmlkjihgfedcba"
    assert check_name("machine", name, "") == name
    assert len(name) == 64
