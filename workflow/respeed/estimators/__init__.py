"""From records to numbers with intervals: block, round, cell, speedup, total. What counts is decided here alone."""
