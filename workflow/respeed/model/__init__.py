"""The nouns of the project as frozen dataclasses. Imports nothing of it."""
