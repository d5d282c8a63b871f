"""Bundles: the records of machines as one file, to carry them elsewhere. docs/carry.md says what is in one."""
