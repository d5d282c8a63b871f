"""respeed rename: another name for a machine, or a name of its own for a second one in its folder."""

import os

from respeed.errors import UserError
from respeed.inputs.config import load_config
from respeed.machine.description import machine_slug
from respeed.paths import records_folder
from respeed.records.folder import hold_folder
from respeed.records.rename import adopt_strangers, rename_left_out, rename_machine


def rename(old: str, new: str, left_out: bool, smoke: bool) -> None:
    """Rename, and print what was done; UserError if there is nothing to rename or the new name is taken."""
    named = load_config(strict=False).machine
    lock = hold_folder(smoke)
    try:
        files = _rename(old, new, left_out, smoke)
    except OSError as error:
        raise UserError(
            f"{records_folder(smoke)}: cannot be changed: {error.strerror}; mend that, then give the same command again"
        ) from None
    finally:
        os.close(lock)
    counted = f"{files} files are" if files > 1 else "1 file is"
    print(f"{counted} of {new} now, in {records_folder(smoke) / new}")
    if old != new and not left_out and (named or machine_slug()) == old:
        why = "in config.yaml" if named else "by itself"
        print(f"this machine is {old} {why}; to measure on as {new}: --config machine={new} (or in config.yaml)")


def _rename(old: str, new: str, left_out: bool, smoke: bool) -> int:
    if left_out:
        return rename_left_out(old, new, smoke)
    return adopt_strangers(new, smoke) if old == new else rename_machine(old, new, smoke)
