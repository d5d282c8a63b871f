"""The command `respeed`. Snakemake's rules call it; people may, too."""

from respeed.machine.own_packages import own_packages_first

# Before any package is loaded.
own_packages_first()
