"""Tables as CSV."""

from pathlib import Path

from respeed.tables import cells, speedups
from respeed.tables.write import write_tidy
from tests.tables.derived import MakeRecord, derive, seven


def test_tidy_tables_have_exactly_their_columns(make_record: MakeRecord, tmp_path: Path) -> None:
    made, ratios = derive(seven(make_record, [0.1] * 7))
    write_tidy(tmp_path / "cells.csv", cells.COLUMNS, made)
    write_tidy(tmp_path / "speedups.csv", speedups.COLUMNS, ratios)
    assert (tmp_path / "cells.csv").read_text().splitlines()[0] == (
        "machine,paper,experiment,case,algorithm,profile,architecture,package,precision,seconds,seconds_low,"
        "seconds_high,rounds,discarded,status,reason,gflops,peak_share,error,published_seconds,seconds_median,sessions,"
        "measured_in"
    )
    assert (tmp_path / "speedups.csv").read_text().splitlines()[0] == (
        "machine,paper,experiment,case,algorithm,profile,precision,base_algorithm,base_profile,speedup,speedup_low,"
        "speedup_high,published,verdict,reason,confidence"
    )
