"""The report: one file of facts, laid out by Typst. Every number in it comes from a data file."""
