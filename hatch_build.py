"""Put what a clone has around the package into its wheel, where respeed/paths.py looks for it."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHARED = ["config.yaml", "profiles", "report"]
SHARED += [f"workflow/{name}" for name in ("Snakefile", "datasheets.yaml", "hardware", "papers", "rules", "starters")]


class CustomBuildHook(BuildHookInterface):
    """Hatchling's hook; an editable install needs no copy, since it runs the clone itself."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files for a wheel."""
        if version == "standard":
            build_data["force_include"] |= {path: f"respeed/share/{path}" for path in SHARED}
