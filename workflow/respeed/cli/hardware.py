"""respeed hardware: what this machine is, which profiles apply and why the others do not."""

from tabulate import tabulate

from respeed.load.hardware import load_profiles
from respeed.model.errors import NotMeasurable
from respeed.model.identity import FIELDS
from respeed.model.profile import Profile
from respeed.plan.availability import resolve_threads
from respeed.provenance.machine import describe_machine, machine_slug


def show_hardware() -> None:
    """Print the machine and a line for every profile."""
    machine = describe_machine()
    machine["memory_bytes"] = f"{machine['memory_bytes'] / 2**30:.1f} GiB"
    print(f"{machine_slug()}\n")
    for key, value in machine.items():
        text = (", ".join(value) or "none") if isinstance(value, list) else ("none" if value is None else value)
        print(f"  {key.replace('_bytes', '').replace('_', ' '):<16} {text}")
    print(f"\nits fingerprint, by which it is another machine than others: {', '.join(FIELDS.values())}")
    rows = [[profile.name, profile.label, *_applies(profile)] for profile in load_profiles().values()]
    print(
        "\n" + tabulate(rows, ["profile", "label", "applies", "threads and cores, or why not"], disable_numparse=True)
    )


def _applies(profile: Profile) -> tuple[str, str]:
    try:
        threads, cpus = resolve_threads(profile)
    except NotMeasurable as reason:
        return "no", str(reason)
    where = f" on CPU {', '.join(map(str, cpus))}" if cpus else ""
    named = ", measured only where it is named" if profile.optional else ""
    return "yes", f"{threads} thread{'s' if threads > 1 else ''}{where}{named}"
