"""What people read above the columns of a table."""

from respeed.inputs.papers import load_papers


def words_of(paper: str, experiment: str, *, tiny: bool = False) -> list[str]:
    (whole,) = load_papers([paper]).values()
    table = (whole.at_tiny_sizes() if tiny else whole).experiments[experiment]
    return list(table.column_words().values())


def test_a_column_has_the_printed_words_or_the_name_of_its_case_and_no_two_have_the_same() -> None:
    assert words_of("raina2009", "sparse-coding") == ["3 %", "6 %", "10 %"]
    assert words_of("raina2009", "sparse-coding", tiny=True) == ["smoke 6 %", "smoke 10 %"]
    assert words_of("raina2009", "patches")[:2] == ["20736x49152 patch24", "20736x49152 patch32"]
    assert words_of("bergstra2010", "nets")[:2] == ["784-10 batch 1", "784-500-10 batch 1"]
    # The column mlp is answered by the case of that name, too.
    assert words_of("theano-tutorials", "programs")[2:4] == ["mlp", "mlp cost read"]
