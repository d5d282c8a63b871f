"""Python imports this as it starts: in a process that takes the pretended GPU for one, torch's arrays get numbers."""

from respeed.machine import process
from tests.pretended_gpu import numbers, profiler

# The measuring process is to find the pretended GPU, too: it inherits nothing else of the kind.
process.PREFIXES += ("PRETENDED_",)
numbers.pretend()
profiler.pretend()
