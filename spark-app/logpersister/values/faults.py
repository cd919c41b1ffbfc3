"""``faults`` of a value: what becomes of values that do not fit the columns."""

from typing import Final, Literal

from logpersister.forms.constraint import Model

WrongType = Literal["refuse", "setNull", "convert"]
SetNull = Literal["refuse", "setNull"]
Duplicates = Literal["refuse", "first", "last"]
InvalidUtf8 = Literal["refuse", "replace"]


class WrittenFaultsSpec(Model):
    """What becomes of values that do not fit. By default the record is stored in quarantine."""

    overflow: SetNull = "refuse"
    """Numbers and times out of the range or the precision of the type. `setNull`: the
    field is null."""

    bad_text: SetNull = "refuse"
    """Text from which the type cannot be read."""

    @property
    def chosen(self) -> "FaultsSpec":
        """All faults, by these choices."""
        return FaultsSpec.model_construct(**dict(self))


class LineFaultsSpec(WrittenFaultsSpec):
    """What becomes of values that do not fit. By default the record is stored in quarantine."""

    wrong_type: SetNull = "refuse"
    """Text of another kind than the type. `setNull`: the field is null."""

    invalid_utf8: InvalidUtf8 = "refuse"
    """Text that is not UTF-8; `replace`: U+FFFD takes its place."""


class FaultsSpec(WrittenFaultsSpec):
    """What becomes of values that do not fit. By default the record is stored in quarantine."""

    wrong_type: WrongType = "refuse"
    """Values of another kind than the type. `setNull`: the field is null. `convert`: text is read as in a CSV column, a
    number or bool becomes text; all else is refused.
    """

    duplicates: Duplicates = "refuse"
    """Value that counts when a struct or map has a name several times."""

    invalid_utf8: InvalidUtf8 = "refuse"
    """Text that is not UTF-8; `replace`: U+FFFD takes its place."""

    @property
    def words(self) -> dict[str, str]:
        """Choices by the field names of the manifest."""
        found: dict[str, str] = self.model_dump(by_alias=True)
        return found


REFUSED: Final = FaultsSpec()
"""Each fault refuses the record."""
