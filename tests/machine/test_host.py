"""The host's mark tells hosts apart and gives nothing away."""

from pathlib import Path

from respeed.machine.description import host_mark


def mark(folder: Path, number: str) -> str | None:
    (folder / "machine-id").write_text(number)
    return host_mark((folder / "machine-id",))


def test_the_same_host_has_the_same_mark_and_another_has_another(tmp_path: Path) -> None:
    first = mark(tmp_path, "0" * 32)
    assert first == mark(tmp_path, "0" * 32 + "\n")
    assert first != mark(tmp_path, "1" * 32)


def test_the_number_itself_is_not_in_the_mark(tmp_path: Path) -> None:
    number = "0123456789abcdef0123456789abcde5"
    found = mark(tmp_path, number)
    assert found
    assert len(found) == 16
    assert found[:8] not in number


def test_a_host_without_a_number_has_no_mark(tmp_path: Path) -> None:
    assert mark(tmp_path, "") is None
    assert host_mark((tmp_path / "missing",)) is None
