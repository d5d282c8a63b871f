"""What the system refuses a program, such as a disk that is full: the user's to mend, and told in a line."""

import errno
import os

from respeed.model.errors import UserError

GOES_ON = "the same command goes on"
# What to do about it. Any other error is a mistake of the program, whose traceback helps to find it.
ADVICE = {
    errno.ENOSPC: f"make room there, and {GOES_ON}",
    errno.EDQUOT: f"make room there, or ask for a larger quota, and {GOES_ON}",
    errno.EFBIG: f"raise the limit of a file's size (ulimit -f), and {GOES_ON}",
    errno.EIO: "the disk or the network folder fails; look at it before anything else",
    errno.EROFS: "copy the project to where you may write",
    errno.EACCES: "copy the project to where you may write, or have the owner give you the right",
    errno.EPERM: "copy the project to where you may write, or have the owner give you the right",
}
FULL = (errno.ENOSPC, errno.EDQUOT)


def refusal(error: BaseException, what: str | os.PathLike[str] | None = None) -> UserError | None:
    """The line about what the system refused, of `what` or of the file that the error names; None if it is no such
    error."""
    if not isinstance(error, OSError) or error.errno not in ADVICE:
        return None
    name = what or error.filename or "a file, or what is printed"
    return UserError(f"{os.fsdecode(name)}: cannot be written: {error.strerror}; {ADVICE[error.errno]}")
