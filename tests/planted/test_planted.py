"""What is planted stands in the code as it is: or else nobody would notice that it is planted no more."""

import pytest

from tests.planted.mistakes import PACKAGE, find, nodes_for, read_mistakes, text_of


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


def test_a_moved_or_renamed_function_is_found() -> None:
    """What moved is found in its new file; of what has another name, one line says which name is near."""
    mistake = next(mistake for mistake in read_mistakes("mistakes.txt") if mistake.function == "estimate_ratio")
    path, _ = find(mistake._replace(file="before.py"))
    assert path == PACKAGE / mistake.file
    with pytest.raises(LookupError, match=rf"^{mistake.file} has no estimated_ratio now: is it estimate_ratio\?$"):
        find(mistake._replace(function="estimated_ratio"))
