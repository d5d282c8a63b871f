"""Measure a round: a parent that prepares and keeps the record, a fresh child that runs and times."""
