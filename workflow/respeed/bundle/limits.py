"""How much a bundle may hold. A larger one is refused before it is read."""

MIB = 2**20
# A paper's rounds on all profiles of a machine are some hundred records; this has room for a hundred machines.
MAX_MEMBERS = 50_000
# The largest files seen have 0.6 MB (what a program learns); a record of a whole run grows by 8 MB a day.
MAX_MEMBER_BYTES = 32 * MIB
MAX_BYTES = 512 * MIB
# A manifest has about 200 bytes a member.
MAX_MANIFEST_BYTES = 16 * MIB
# Real files shrink to a quarter, and at most to an eighth. A file of nothing but one letter shrinks to a thousandth.
MAX_RATIO = 40
# Real records are 7 deep.
MAX_DEPTH = 16
MAX_TEXT = 4000
# Numbers beyond are no facts of a measurement, and some programs cannot hold them exactly.
MAX_WHOLE = 2**63
