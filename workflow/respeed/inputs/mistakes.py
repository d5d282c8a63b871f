"""Mistakes in a user's files, collected: one that is found does not hide the others."""

from collections.abc import Iterator
from contextlib import contextmanager

from respeed.errors import UserError


class Mistakes(list[str]):
    """One line each."""

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """A UserError within is kept, and what comes after it goes on."""
        try:
            yield
        except UserError as error:
            self.append(str(error))

    def raise_any(self) -> None:
        """UserError with the first, and how many more there are."""
        if self:
            more = f" (and {len(self) - 1} more: respeed check lists them)" if len(self) > 1 else ""
            raise UserError(f"{self[0]}{more}")
