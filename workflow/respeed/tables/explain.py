"""Why a speedup is what it is, in a sentence for people."""

from respeed.tables.breakdown import Breakdown
from respeed.tables.numbers import format_number, format_share


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
