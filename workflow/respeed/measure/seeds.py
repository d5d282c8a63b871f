"""Seeds, each derived from the configuration's one and from what it is for."""

import hashlib

from respeed.schedule.spec import RoundSpec


def derive_seed(spec: RoundSpec, purpose: str) -> int:
    """A 63-bit seed for `purpose`: the same on every profile of a round, so that all compute on the same data."""
    words = f"{spec.seed}/{spec.id.paper}/{spec.id.experiment}/{spec.id.index}/{purpose}"
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:8], "big") >> 1
