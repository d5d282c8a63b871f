"""The libraries that SciPy may compute with, by the names that profiles and machines' facts use."""

# And what people call them.
LIBRARIES = {
    "openblas": "OpenBLAS",
    "accelerate": "Accelerate",
    "mkl": "MKL",
    "blis": "BLIS",
    "netlib": "Netlib's BLAS",
}
# Facts of before said nothing of it: they are of Linux, where SciPy's wheels come with this one.
OF_BEFORE = "openblas"


def library_label(name: str) -> str:
    """What people call the library; of one that is not known here its own name."""
    return LIBRARIES.get(name, name)
