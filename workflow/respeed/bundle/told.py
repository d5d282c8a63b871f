"""The price of a machine, carried with its records. Slurm resources and the choice of profiles stay at their site."""

import json
from pathlib import Path

from respeed.bundle.plain import check_text
from respeed.errors import UserError
from respeed.inputs.files import from_here
from respeed.inputs.machines import Price, check_told, read_told
from respeed.inputs.yaml_loader import parse_yaml
from respeed.records.files import write_text

# A price takes some hundred bytes, and no machine costs so much an hour.
MAX_BYTES, MAX_PRICE = 4000, 1e6


def carried_price(machine: str, folder: Path) -> str | None:
    """The text that a bundle carries of what is told of a machine here, None if no price is; UserError if the file is
    not valid."""
    if not _path(machine, folder).exists():
        return None
    told, mistakes = read_told(machine, folder)
    mistakes.raise_any()
    return _text(told.price) if told and told.price else None


def check_price(machine: str, data: bytes, where: str) -> str:
    """The same text, of one that somebody sent; UserError if it does not tell a price."""
    try:
        told, mistakes = check_told(machine, data[: MAX_BYTES + 1].decode("utf-8"), Path(where))
        mistakes.raise_any()
        price = told.price if told else None
        if price:
            check_text(price.source)
    except ValueError as error:
        raise UserError(f"{where}: is no price ({error})") from None
    if price is None or price.per_hour > MAX_PRICE or len(data) > MAX_BYTES:
        raise UserError(f"{where}: is no price that a machine has")
    return _text(price)


def keep_price(machine: str, text: str, folder: Path) -> str | None:
    """Write the price where nothing is told of the machine here; says what happened, None if it is told already."""
    path = _path(machine, folder)
    shown = from_here(path)
    if not path.exists():
        write_text(path, text)
        return f"its price is in {shown}"
    try:
        here = carried_price(machine, folder)
    except UserError as error:
        return f"its price is left out, as what is told of it here is not valid: {str(error).splitlines()[0]}"
    if here is None:
        price = parse_yaml(text, str(shown))["price"]
        return (
            f"it costs {price['per_hour']:g} {price['currency']} an hour by what was imported; if that is right, write "
            f"it under price: in {shown}"
        )
    return None if here == text else f"its price is another in {shown} here, which stays"


def _path(machine: str, folder: Path) -> Path:
    return folder / f"{machine}.yaml"


def _text(price: Price) -> str:
    # JSON's texts are YAML's.
    return (
        f"price:\n  per_hour: {price.per_hour}\n  currency: {json.dumps(price.currency)}\n"
        f"  source: {json.dumps(price.source, ensure_ascii=False)}\n  date: {json.dumps(price.date)}\n"
    )
