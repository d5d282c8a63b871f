"""What the name of a precision says of its numbers."""


def number_bytes(precision: str) -> int:
    """Bytes of a number, as memory and traffic are counted: 8 in fp64, or else 4, as in fp32, however low the precision
    of some arrays is."""
    return 8 if precision == "fp64" else 4
