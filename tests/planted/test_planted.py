"""What is planted stands in the code as it is: or else nobody would notice that it is planted no more."""

import pytest

from tests.planted.__main__ import PACKAGE, ROOT
from tests.planted.mistakes import read_mistakes


@pytest.mark.parametrize("name", ["mistakes.txt", "on_a_gpu.txt"])
def test_every_mistake_to_plant_is_one_of_a_piece_of_code_that_is_there(name: str) -> None:
    for one in read_mistakes(name):
        count = (ROOT / PACKAGE / one.file).read_text(encoding="utf-8").count(one.old)
        assert count == 1 or (count and name == "on_a_gpu.txt"), f"{one.file} has {count} times {one.old!r}"
