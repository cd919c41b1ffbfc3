"""Fields of a schema, as a manifest declares them."""

from collections.abc import Iterator
from typing import Annotated

from logpersister.forms.constraint import Flag, Model, Text
from logpersister.forms.notation import Notation
from logpersister.forms.problems import Finding, show
from logpersister.forms.rule import refuses
from logpersister.schemas.types import Column, Time, Timestamp, TimestampUnit, Type, leaves, parse_type
from logpersister.schemas.written_column import Remark
from logpersister.values.defaults import NO_DEFAULT, DefaultValue, OneValue, default_problem, default_text

_UNITS = ("s", "ms", "us", "ns")

ValueName = Annotated[
    str,
    Text(
        r"^[^\x00-\x1f\x7f]+$",
        "is not the name of a field: it is empty, or has control characters",
        "write the name that the field has in the values",
        256,
    ),
]


TypeText = Annotated[
    str,
    Text(
        r"^[^\x00-\x08\x0e-\x1f\x7f]+$",
        "is not a type",
        "write for example int64, timestamp[ms] or list<string> (docs/schemas.md)",
        4096,
        conditions=(parse_type,),
    ),
]


class FieldSpec(Model):
    """One field of the values, and one column of the rows."""

    name: ValueName
    """Name of the field, and of the column unless `rename` gives another; it must where a name has more than letters,
    digits, `_`, `@`, `$`, `-`, or begins with a digit or `-`."""

    type: TypeText
    """`bool`, `int8` to `int64`, `float32`, `float64`, `string`, `binary[base64]`, `date`, `time[ms]`, `timestamp[ms]`,
    `decimal(10,2)`, `json`, `struct<a: int32 not null, b: string>`, `list<T>`, `map<string, T>` (docs/schemas.md)."""

    required: Flag = False
    """Whether each value must have the field, and not null; else its record is stored in quarantine."""

    format: Notation | None = None
    """Notation of timestamps: `rfc3339` (default), `iso8601`, `epoch[s]` to `epoch[ns]`, or for example
    `pattern[dd/MMM/yyyy:HH:mm:ss Z]` (docs/schemas.md#times).
    """

    @property
    def parsed(self) -> Type:
        """Type that the text `type` means."""
        return parse_type(self.type)

    @property
    def column(self) -> Column:
        return Column(self.name, self.parsed, self.required, format=self.format)

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What the column does not hold of times that may be finer than its unit."""
        units: set[TimestampUnit] = {leaf.unit for leaf in leaves(self.parsed) if isinstance(leaf, Time)}
        units |= {leaf.unit for leaf in leaves(self.parsed) if isinstance(leaf, Timestamp) and self._may_cut(leaf.unit)}
        return tuple(Remark(self.name, f"digits of a second finer than {unit} are cut off") for unit in sorted(units))

    def _may_cut(self, unit: TimestampUnit) -> bool:
        finest = "ns" if self.format is None or not self.format.startswith("epoch[") else self.format[6:-1]
        return _UNITS.index(unit) < _UNITS.index(finest)

    @refuses
    def _a_format_is_for_timestamps(self) -> Iterator[Finding]:
        if self.format is not None and not any(isinstance(leaf, Timestamp) for leaf in leaves(self.parsed)):
            remedy = "remove it, or write for example type timestamp[ms]"
            yield Finding("is set, and the type has no timestamp", remedy, ("format",), show(self.format))


class DocumentFieldSpec(FieldSpec):
    """A field that values may lack."""

    default: Annotated[DefaultValue, OneValue()] | None = None
    """Value of the field where a record does not have it (a null stays null), as in JSON. Default: null."""

    @property
    def column(self) -> Column:
        default = None if self.default is None else default_text(self.default)
        return Column(self.name, self.parsed, self.required, default, format=self.format)

    @refuses
    def _a_default_fits(self) -> Iterator[Finding]:
        problem = None if self.default is None else default_problem(self.default, self.parsed, self.format)
        if problem is not None:
            yield Finding(f"{NO_DEFAULT}: {problem}", "write a value of the type", ("default",), show(self.default))
