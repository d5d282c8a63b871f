"""Writes workflow/schemas, by which editors check what people write: ./run python -m respeed.inputs"""

from typing import Any

from respeed.inputs.config import Settings
from respeed.inputs.forms import json_schema
from respeed.inputs.machines import Told
from respeed.inputs.papers import PaperFile
from respeed.inputs.profiles import Profile
from respeed.paths import SCHEMAS

FORMS: dict[str, Any] = {"config": Settings, "hardware": Profile, "machine": Told, "paper": PaperFile}

if __name__ == "__main__":
    for name, form in FORMS.items():
        (SCHEMAS / f"{name}.schema.json").write_text(json_schema(form), encoding="utf-8")
