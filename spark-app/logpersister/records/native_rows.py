"""What parsers have in common that are known by their settings alone."""

from typing import Generic, TypeVar

Native = TypeVar("Native")


class NativeRows(Generic[Native]):
    """Makes its native parser when it first needs it, and keeps it: a topic may have a parser for each of its types.

    A copy that was pickled makes one of its own.
    """

    __slots__ = ("_kept",)
    _kept: Native

    @property
    def native(self) -> Native:
        """The parser."""
        try:
            return self._kept
        except AttributeError:
            object.__setattr__(self, "_kept", self.make())  # instances are frozen
        return self._kept

    def make(self) -> Native:
        """Return a new parser."""
        raise NotImplementedError
