"""What may be a name."""

import pytest

from respeed.errors import UserError
from respeed.paths import check_name


@pytest.mark.parametrize("name", ["../../x", "x;touch y", "A", "a" * 65, "", "-a", "a\n", "à", "a/b", "a.b"])
def test_a_name_is_no_path_and_no_command(name: str) -> None:
    with pytest.raises(UserError, match="cannot be the name of a machine"):
        check_name("machine", name, "config.yaml: machine")


def test_a_name_may_have_64_letters() -> None:
    name = "abcdefghijklmnopqrstuvwxyz0123456789-_" + "zyxwvutsrqponmlkjihgfedcba"
    assert check_name("machine", name, "") == name
    assert len(name) == 64
