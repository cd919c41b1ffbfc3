"""``spec.quarantine``: how records are stored that the parser refuses."""

from typing import Annotated, Literal

from logpersister.forms.constraint import Flag, Model
from logpersister.forms.shares import Percent

QuarantineFormat = Literal["output", "parquet"]


class QuarantineSpec(Model):
    """How records are stored that the parser refuses."""

    format: QuarantineFormat = "output"
    """`output`: like all other records. `parquet`: with all that a record has, so that `logpersister quarantine replay`
    can store it again. With `keepValue: false`, `spec.key`, `spec.types` or `finish.late: quarantine` it is always
    Parquet.
    """

    hold_above: Annotated[int, Percent("100%")] | None = None
    """Largest share of a range's records that may go to quarantine. Above it the partition is held until somebody
    raises or removes the limit (docs/operations.md).
    """

    keep_value: Flag | None = None
    """Whether value, key and headers of a refused record are stored. `false`: nobody can replay it. Default: `true`; a
    value that hides fields requires a decision.
    """

    @property
    def keeps_all(self) -> bool:
        """Whether it is Parquet with all of a record by these settings alone."""
        return self.format == "parquet" or self.keep_value is False

    def keeps_refused_values(self, *, hides: bool) -> bool:
        """Return whether refused values are stored.

        Args:
            hides: whether fields of values are hidden. Then a manifest that does not decide holds ranges with refused
                values; whoever releases one later does it by another manifest, and the values are left out.
        """
        return not hides if self.keep_value is None else self.keep_value
