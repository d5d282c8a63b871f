"""respeed: published speedup tables, re-run on your hardware. CONTRIBUTING.md has the words and the layers."""
