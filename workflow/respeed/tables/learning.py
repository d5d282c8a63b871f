"""What was learned: which of several programs is shown."""

from typing import Any


def shown_program(record: dict[str, Any]) -> dict[str, Any]:
    """The program that left the least to explain: its pictures are of what has been learned the longest way."""
    program: dict[str, Any] = min(record["programs"], key=lambda program: program["curve"][-1][1])
    return program
