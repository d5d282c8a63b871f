"""Which profiles this machine can run, and how many threads on which cores."""

from respeed.model.errors import NotMeasurable
from respeed.model.profile import Profile
from respeed.provenance.accelerators import missing_device
from respeed.provenance.cpu import usable_cores


def why_not(profile: Profile) -> str | None:
    """The reason why this machine cannot measure the profile; None if it can."""
    if reason := missing_device(profile.device):
        return reason
    cores = len(usable_cores())
    if profile.threads != "all" and profile.threads > cores:
        return f"needs {profile.threads} cores, {cores} usable"
    return None


def resolve_threads(profile: Profile) -> tuple[int, tuple[int, ...]]:
    """The number of threads, and the CPUs to run on: a physical core each.

    A profile of an accelerator is not pinned: its driver's own threads would share the one core.
    """
    if reason := why_not(profile):
        raise NotMeasurable(reason)
    cores = usable_cores()
    threads = len(cores) if profile.threads == "all" else profile.threads
    return threads, cores[:threads] if profile.is_cpu else ()
