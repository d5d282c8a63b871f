"""Where the files are that people drop in, seen from the package, so that any working directory will do."""

from pathlib import Path

WORKFLOW = Path(__file__).resolve().parents[2]
ROOT = WORKFLOW.parent
HARDWARE = WORKFLOW / "hardware"
PAPERS = WORKFLOW / "papers"
MACHINES = WORKFLOW / "machines"
SCHEMAS = WORKFLOW / "schemas"
STARTERS = WORKFLOW / "starters"
WORKLOADS = WORKFLOW / "respeed" / "workloads"
BACKENDS = WORKFLOW / "respeed" / "backends"
