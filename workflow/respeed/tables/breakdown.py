"""One speedup as factors that multiply to it.

    t(base) / t(row) = peaks * algorithm * shares * rest, of which those are given that apply

    peaks      the highest rate of the row's hardware over that of the base's
    algorithm  where the two run different ones: seconds of the base's over those of the row's, both on one CPU row here
    shares     where both do the same arithmetic: the share of its peak that the row reached over the base's
    rest       all else, where they do not

The speedup has an interval where our rounds give one; the factors are point estimates, and the last of them is what the
others leave. A speedup over a row of the same machine is estimated from pairs of rounds: there `shares` is the ratio of
the two shares up to what that estimate and the ratio of two means differ by.
"""

from dataclasses import dataclass

from respeed.analysis.labels import across_precisions
from respeed.numbers import format_number, format_share

COLUMNS = (
    "machine", "paper", "experiment", "case", "comparison", "row", "base", "speedup", "speedup_low", "speedup_high",
    "printed", "peaks", "algorithm", "shares", "rest", "seconds", "base_seconds", "gflops", "base_gflops",
    "peak_gflops", "base_peak_gflops", "share", "base_share", "precisions", "reason",
)  # fmt: skip


@dataclass(frozen=True)
class Side:
    """The row or the base of a comparison; `work` in FLOP and `peak` in FLOP/s, in the side's `precision`, are None
    where they are not known."""

    label: str
    seconds: float
    work: float | None
    peak: float | None
    precision: str = ""

    @property
    def gflops(self) -> float | None:
        return self.work / self.seconds / 1e9 if self.work else None

    @property
    def share(self) -> float | None:
        """Of its peak."""
        return self.work / self.seconds / self.peak if self.work and self.peak else None


@dataclass(frozen=True)
class Ratio:
    """A speedup with its interval, and the algorithm's factor in it where two algorithms are compared.

    `same_work`: but for that factor, both sides do the same arithmetic.
    """

    speedup: float
    low: float | None = None
    high: float | None = None
    algorithm: float | None = None
    same_work: bool = True


@dataclass(frozen=True)
class Breakdown:
    """One row of why.csv. A factor is None where it does not apply, or where `reason` says that it is not known.

    `machine` is "paper" for the paper's own speedup, `printed` the text of it. `share` and `base_share` are of
    `peak_gflops` and `base_peak_gflops`. `precisions` says of which two the speedup is, where they are not the same.
    """

    machine: str
    paper: str
    experiment: str
    case: str
    comparison: str
    row: str
    base: str
    speedup: float
    speedup_low: float | None
    speedup_high: float | None
    printed: str
    peaks: float | None
    algorithm: float | None
    shares: float | None
    rest: float | None
    seconds: float
    base_seconds: float
    gflops: float | None
    base_gflops: float | None
    peak_gflops: float | None
    base_peak_gflops: float | None
    share: float | None
    base_share: float | None
    precisions: str
    reason: str


def break_down(
    where: tuple[str, str, str, str], comparison: str, row: Side, base: Side, ratio: Ratio, printed: str = ""
) -> Breakdown:
    """The factors of a speedup; `where` are machine, paper, experiment and case."""
    peaks = row.peak / base.peak if row.peak and base.peak else None
    left = ratio.speedup / peaks / (ratio.algorithm or 1.0) if peaks else None
    return Breakdown(
        *where,
        comparison,
        row.label,
        base.label,
        ratio.speedup,
        ratio.low,
        ratio.high,
        printed,
        peaks=peaks,
        algorithm=ratio.algorithm,
        shares=left if ratio.same_work else None,
        rest=None if ratio.same_work else left,
        seconds=row.seconds,
        base_seconds=base.seconds,
        gflops=row.gflops,
        base_gflops=base.gflops,
        peak_gflops=row.peak / 1e9 if row.peak else None,
        base_peak_gflops=base.peak / 1e9 if base.peak else None,
        share=row.share,
        base_share=base.share,
        precisions=across_precisions(row.precision, [base.precision]),
        reason=_what_is_not_known(row, base),
    )


def _what_is_not_known(row: Side, base: Side) -> str:
    unknown = [side.label for side in (row, base) if not side.peak]
    if unknown:
        return f"no peak is known of {' and '.join(unknown)}"
    return "" if row.work and base.work else "no FLOP count, so no share of a peak is known"


def explain(one: Breakdown) -> str:
    """72.6 = 12.3 of hardware (622 over 50.6 GFLOP/s) times 5.91 of use (42 % of its peak against 7 %)."""
    number = one.printed or format_number(one.speedup)
    whole = f"{number} ({one.precisions})" if one.precisions else number
    if not (one.peaks and one.peak_gflops and one.base_peak_gflops):
        return f"{whole}: {one.reason}"
    rates = f"{format_number(one.peak_gflops)} over {format_number(one.base_peak_gflops)} GFLOP/s"
    factors = [f"{format_number(one.peaks)} of hardware ({rates})"]
    if one.algorithm:
        factors.append(f"{format_number(one.algorithm)} of the algorithm")
    if one.shares:
        reached = ""
        if one.share and one.base_share:
            reached = f" ({format_share(one.share)} of its peak against {format_share(one.base_share)})"
        factors.append(f"{format_number(one.shares)} of use{reached}")
    if one.rest:
        factors.append(f"{format_number(one.rest)} of all else")
    return f"{whole} = {' times '.join(factors)}"
