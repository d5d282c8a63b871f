"""What the system refuses is the user's to mend; anything else is a mistake of the program."""

import errno
import os
from pathlib import Path

import pytest

from respeed.cli.main import main
from respeed.errors import ADVICE, refusal, refusal_anywhere


@pytest.mark.parametrize("number", ADVICE)
def test_what_the_system_refuses_is_a_line_with_the_file_and_what_to_do(number: int) -> None:
    error = OSError(number, os.strerror(number), "some/file.part")
    line = str(refusal(error, Path("some/file")))
    assert line.startswith(f"some/file: cannot be written: {os.strerror(number)}; ")
    assert str(refusal_anywhere(error)).startswith("some/file.part: cannot be ")


@pytest.mark.parametrize("number", ADVICE)
def test_what_need_not_come_of_writing_is_not_told_so(number: int) -> None:
    line = str(refusal_anywhere(OSError(number, os.strerror(number), "some/file")))
    only_writing = number in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
    assert ("cannot be written: " in line, "cannot be read or written: " in line) == (only_writing, not only_writing)


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOENT, "no such file", "some/file"), OSError("?"), OSError(errno.EPERM, "not permitted"),
     OSError(errno.EACCES, "denied", 3)],
)  # fmt: skip
def test_any_other_error_keeps_its_traceback(error: OSError) -> None:
    assert refusal_anywhere(error) is None


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS])
def test_a_library_that_is_refused_ends_a_command_with_one_line(
    number: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def write(**_: object) -> None:
        raise OSError(number, os.strerror(number), "deep/inside")

    monkeypatch.setattr("respeed.cli.results.show_claims", write)
    monkeypatch.setattr("respeed.cli.main._say_no_more", lambda: None)
    assert main(["claims"]) == 2
    told = capfd.readouterr().err
    assert told.count("\n") == 1
    assert told.startswith(f"respeed: deep/inside: cannot be written: {os.strerror(number)}; ")
