"""What is planted stands in the code as it is: or else nobody would notice that it is planted no more."""

import pytest

from tests.planted.mistakes import find, nodes_for, read_mistakes, text_of


@pytest.mark.parametrize("name", ["mistakes.txt", "equivalent.txt", "on_a_gpu.txt"])
def test_every_planted_mistake_fits_the_code(name: str) -> None:
    stale = []
    for mistake in read_mistakes(name):
        try:
            _, spot = find(mistake)
            nodes = nodes_for(spot, mistake.new)
            assert [text_of(node) for node in nodes] != [text_of(node) for node in spot.nodes], mistake
        except LookupError as reason:
            stale.append(str(reason))
    assert not stale, "\n".join([f"change or drop these lines of tests/planted/{name}:", *stale])
