"""respeed claims, in the terminal."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from respeed.cli.results import _lines, show_claims
from respeed.errors import UserError
from tests.conftest import MakeRecord, write_machines


def test_each_claim_stands_with_its_verdict_and_the_end_says_how_firm_the_numbers_are(
    make_record: MakeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_machines(make_record, 2)
    show_claims(smoke=False, machine="box-01")
    printed = " ".join(capsys.readouterr().out.split())
    assert ", on box-01 A GPU trains a densely connected RBM" in printed
    assert "published 12.9x to 72.6x" in printed
    assert printed.endswith("from 7 rounds, each in a fresh process.")


def test_a_machine_without_records_is_named_with_the_nearest(
    make_record: MakeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_machines(make_record, 1)
    with pytest.raises(UserError, match=r"no records of 'box-0'.*box-00"):
        show_claims(smoke=False, machine="box-0")


def test_a_claim_of_which_nothing_was_printed_says_no_number() -> None:
    claim = SimpleNamespace(
        says="It is faster.", verdict="not testable here", published="", here="", reason="no CUDA device", instead=""
    )
    assert _lines(claim)[1].strip() == "not testable here"
