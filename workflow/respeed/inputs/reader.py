"""The one reader of what people drop into folders: hardware profiles, papers, and what is told of machines."""

import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from respeed.errors import UserError
from respeed.inputs.files import from_here
from respeed.inputs.forms import Mistakes, require
from respeed.paths import NAME, check_name

Model = TypeVar("Model")


@dataclass(frozen=True)
class Files(Generic[Model]):
    """The files of one `kind`, each named as what it describes.

    `pattern`, below `folder`, has a star where the name stands. `read` makes a model of a name and a path, or raises a
    UserError with all the mistakes of the file.
    """

    kind: str
    folder: Path
    pattern: str
    read: Callable[[str, Path], Model]

    def path(self, name: str) -> Path:
        """Return the path of the file of that name."""
        return self.folder / self.pattern.replace("*", name)

    def names(self) -> tuple[str, ...]:
        """Return the names of all there are. A file whose name cannot be one is a draft that nobody can ask for."""
        return tuple(name for name in self._stems() if NAME.fullmatch(name))

    def load(self, name: str) -> Model:
        """Read one; UserError if there is none of that name or it has mistakes."""
        require(f"{from_here(self.folder)}: no {self.kind}", name, self.names())
        return self._read(name)

    def load_all(self, names: Iterable[str] | None = None) -> dict[str, Model]:
        """Read those of these names, by default all; UserError if one has mistakes."""
        return {name: self.load(name) for name in (self.names() if names is None else names)}

    def load_right(self, names: Iterable[str] | None = None, chosen: Collection[str] = ()) -> dict[str, Model]:
        """Read those that are right; one with mistakes is left out with a line, or stops if it was `chosen`."""
        found = {}
        for name in self.names() if names is None else names:
            try:
                found[name] = self.load(name)
            except UserError as error:
                if name in chosen:
                    raise
                print(f"respeed: the {self.kind} {name} is left out: {error}", file=sys.stderr)
        return found

    def check(self) -> Mistakes:
        """Return a line for each mistake in any of them."""
        mistakes = Mistakes()
        for name in self._stems():
            with mistakes.collecting():
                self._read(name)
        return mistakes

    def _read(self, name: str) -> Model:
        path = from_here(self.path(name))
        check_name(self.kind, name, str(path))
        return self.read(name, path)

    def _stems(self) -> list[str]:
        """Return the names of all files, of drafts too."""
        before, _, after = self.pattern.partition("*")
        paths = (path.relative_to(self.folder).as_posix() for path in self.folder.glob(self.pattern))
        return sorted(path.removeprefix(before).removesuffix(after) for path in paths)
