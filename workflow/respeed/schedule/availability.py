"""Which profiles this machine can run, and how many threads on which cores."""

from collections.abc import Mapping
from typing import Any

from respeed.errors import NotMeasurable
from respeed.inputs.profiles import Profile
from respeed.machine.accelerators import missing_device
from respeed.machine.cpu import cpu_flags
from respeed.machine.description import describe_machine
from respeed.schedule.placing import place
from respeed.schedule.requirements import unmet

# Instructions without which a CPU only emulates a precision, in more time than fp32 takes. (asimdhp: half precision.)
INSTRUCTIONS = {
    "bf16": {"avx512_bf16", "amx_bf16", "bf16"},
    "fp16": {"avx512_fp16", "amx_fp16", "asimdhp"},
}


def why_not(profile: Profile, facts: Mapping[str, Any] | None = None) -> str | None:
    """The reason why this machine cannot measure the profile; None if it can. Who asks of many has its `facts`."""
    if reason := missing_device(profile.device):
        return reason
    needed = INSTRUCTIONS.get(profile.precision, set()) if profile.is_cpu else set()
    if needed and not needed & set(cpu_flags()):
        return f"the CPU has no instructions for {profile.precision}"
    facts = facts or describe_machine()
    if reason := unmet(profile, facts):
        return reason
    try:
        place(profile, facts)
    except NotMeasurable as reason:
        return str(reason)
    return None


def resolve_threads(profile: Profile) -> tuple[int, tuple[int, ...]]:
    """The number of threads, and the CPUs to run on (`placing.place`)."""
    if reason := why_not(profile):
        raise NotMeasurable(reason)
    return place(profile, describe_machine())
