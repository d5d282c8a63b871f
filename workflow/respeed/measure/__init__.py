"""Measure rounds: a parent process writes the record, and a new child process runs and times the cases."""
