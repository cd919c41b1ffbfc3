"""What becomes of values that do not fit, decided once more; no code of the native parser is in it.

docs/schemas.md says what it should be.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from logpersister.schemas.types import ListOf, MapOf, Struct, Type
from logpersister.values.faults import FaultsSpec
from tests.judges.refusal import RefusalError

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Faults:
    """What a manifest says of them."""

    spec: FaultsSpec

    @property
    def duplicates(self) -> str:
        return self.spec.duplicates

    @property
    def replaces_invalid(self) -> bool:
        return self.spec.invalid_utf8 == "replace"

    def adjusted(self, read: Callable[[], Any], convert: Callable[[], Any], *, required: bool) -> Any:
        """Return what `read` returns, or what takes its place. Raises `RefusalError`.

        Args:
            read: reads the value.
            convert: reads it as a value of another kind.
            required: whether it cannot be null.
        """
        try:
            return read()
        except RefusalError as error:
            if error.path:
                raise  # it is about something inside, which was judged there
            refusal = error
        if refusal.reason == "wrong_type" and self.spec.wrong_type == "convert":
            try:
                return convert()
            except RefusalError as error:
                refusal = error
        if required or not self._sets_null(refusal.reason):
            raise refusal
        return None

    def inside(
        self, step: str, read: Callable[[], Any], convert: Callable[[], Any], *, is_null: bool, required: bool
    ) -> Any:
        """Return the same of a value that is inside of another one, or None for null. Raises `RefusalError`.

        Args:
            step: the part of the field path that leads to it.
            read: see `adjusted`.
            convert: the same.
            is_null: whether it is null.
            required: see `adjusted`.
        """
        if is_null:
            if required:
                raise RefusalError("missing", step)
            return None
        try:
            return self.adjusted(read, convert, required=required)
        except RefusalError as error:
            raise error.below(step) from None

    def _sets_null(self, reason: str) -> bool:
        spec = self.spec
        said = {"wrong_type": spec.wrong_type, "overflow": spec.overflow, "bad_text": spec.bad_text}
        return said.get(reason) == "setNull"


def unique(members: Sequence[Value], names: Sequence[object], which: str) -> Sequence[Value]:
    """Return those of members that count, where names are several times among them; a name that is None always does."""
    if which == "refuse":
        return members
    numbered = list(enumerate(names))
    chosen = {name: place for place, name in (numbered if which == "last" else reversed(numbered))}
    return [members[place] for place, name in numbered if name is None or chosen[name] == place]


def is_plain_scalar(type_: Type) -> bool:
    """Whether a type is not made of others."""
    return not isinstance(type_, Struct | ListOf | MapOf)
