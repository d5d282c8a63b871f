"""Which profiles this machine can run, and how many threads on which cores."""

from respeed.model.errors import NotMeasurable
from respeed.model.profile import Profile
from respeed.provenance.accelerators import missing_device
from respeed.provenance.cpu import cpu_flags, usable_cores

# Instructions without which a CPU only emulates a precision, in more time than fp32 takes. (asimdhp: half precision.)
INSTRUCTIONS = {
    "bf16": {"avx512_bf16", "amx_bf16", "bf16"},
    "fp16": {"avx512_fp16", "amx_fp16", "asimdhp"},
}


def why_not(profile: Profile) -> str | None:
    """The reason why this machine cannot measure the profile; None if it can."""
    if reason := missing_device(profile.device):
        return reason
    needed = INSTRUCTIONS.get(profile.precision, set()) if profile.is_cpu else set()
    if needed and not needed & set(cpu_flags()):
        return f"the CPU has no instructions for {profile.precision}"
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
