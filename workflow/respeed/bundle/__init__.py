"""Bundles: the records of machines as one file, to carry them elsewhere. docs/machines.md says what is in one."""
