"""Writes workflow/schemas, by which editors check what people write: ./run python -m respeed.inputs"""

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from respeed.inputs.config import Settings
from respeed.inputs.forms import adapter
from respeed.inputs.machines import Told
from respeed.inputs.papers import PaperFile
from respeed.inputs.profiles import Profile
from respeed.paths import SCHEMAS

FORMS: dict[str, Any] = {"config": Settings, "hardware": Profile, "machine": Told, "paper": PaperFile}


class _Schema(GenerateJsonSchema):
    """Without a title for each key; what may be left out may not be null."""

    def nullable_schema(self, schema: Any) -> Any:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def json_schema(form: Any) -> str:
    """The JSON Schema of a model, for editors."""
    schema = adapter(form).json_schema(schema_generator=_Schema)
    return json.dumps({"$schema": GenerateJsonSchema.schema_dialect, **schema}, indent=2) + "\n"


if __name__ == "__main__":
    for name, form in FORMS.items():
        (SCHEMAS / f"{name}.schema.json").write_text(json_schema(form), encoding="utf-8")
