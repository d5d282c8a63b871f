"""Decide from the configuration and the records which rounds to measure. No case is run or timed here."""
