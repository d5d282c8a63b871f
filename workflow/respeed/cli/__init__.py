"""The command `respeed`. Snakemake's rules call it; people may, too."""
