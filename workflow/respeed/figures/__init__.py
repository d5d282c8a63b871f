"""Figures, drawn from tables. No arithmetic here: what is drawn was derived there."""
