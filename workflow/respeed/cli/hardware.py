"""respeed hardware: what this machine is, which profiles apply and why the others do not."""

from typing import Any

from tabulate import tabulate

from respeed.load.hardware import load_profiles
from respeed.model.errors import NotMeasurable
from respeed.model.identity import FIELDS, show_field
from respeed.model.profile import Profile
from respeed.plan.availability import resolve_threads
from respeed.provenance.machine import describe_machine, machine_slug


def show_hardware() -> None:
    """Print the machine and a line for every profile."""
    machine = describe_machine()
    print(f"{machine_slug()}\n\nits fingerprint, which tells it from other machines:")
    for fact, name in FIELDS.items():
        _print_fact(name, fact, machine[fact])
    print("\nwhat may differ from round to round:")
    for fact in [fact for fact in machine if fact not in FIELDS]:
        _print_fact(fact.replace("_", " "), fact, machine[fact])
    rows = [[profile.name, profile.label, *_applies(profile)] for profile in load_profiles().values()]
    print(
        "\n" + tabulate(rows, ["profile", "label", "applies", "threads and cores, or why not"], disable_numparse=True)
    )


def _print_fact(name: str, fact: str, value: Any) -> None:
    print(f"  {name:<18} {'none' if value is None else show_field(fact, value)}")


def _applies(profile: Profile) -> tuple[str, str]:
    try:
        threads, cpus = resolve_threads(profile)
    except NotMeasurable as reason:
        return "no", str(reason)
    where = f" on CPU {', '.join(map(str, cpus))}" if cpus else ""
    named = ", measured only where it is named" if profile.optional else ""
    return "yes", f"{threads} thread{'s' if threads > 1 else ''}{where}{named}"
