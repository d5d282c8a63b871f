"""What a profile must find on a machine, from the machine's facts alone."""

import importlib.util
from collections.abc import Mapping
from typing import Any

from respeed.inputs.profiles import Profile, other_library


def unmet(profile: Profile, facts: Mapping[str, Any]) -> str | None:
    """The first requirement that the machine does not meet, as a reason; None if it meets all."""
    needs = profile.requires
    if reason := other_library(profile, facts):
        return reason
    missing = [name for name in needs.get("instructions", ()) if name not in facts["cpu_flags"]]
    if missing:
        return f"the CPU has no {' and no '.join(missing)}"
    needed, there = needs.get("memory_gb", 0), facts["memory_bytes"] / 1e9
    if needed > there:
        return f"needs {needed:g} GB of memory, has {there:.1f}"
    # The same environment on all nodes of a cluster: looked at here.
    absent = next((name for name in needs.get("packages", ()) if importlib.util.find_spec(name) is None), None)
    return f"needs the Python package {absent}, which is not installed" if absent else None
