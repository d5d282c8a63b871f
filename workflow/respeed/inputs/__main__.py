"""Write workflow/schemas, by which editors check what people write.

./run python -m respeed.inputs
"""

import json
from typing import Any

from respeed.inputs.config import Config
from respeed.inputs.machines import Profile, Told
from respeed.inputs.papers import PaperFile
from respeed.inputs.reader import json_schema
from respeed.paths import SCHEMAS

FORMS: dict[str, Any] = {"config": Config, "hardware": Profile, "machine": Told, "paper": PaperFile}

if __name__ == "__main__":
    for name, form in FORMS.items():
        text = json.dumps(json_schema(form), indent=2)
        (SCHEMAS / f"{name}.schema.json").write_text(f"{text}\n", encoding="utf-8")
