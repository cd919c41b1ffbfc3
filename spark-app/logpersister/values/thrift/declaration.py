"""``spec.value.thrift``: by which schema values of Thrift are read."""

from typing import Annotated

from logpersister.forms.constraint import Model, Text

LONGEST_IDL = 200_000
"""Characters of a text of Thrift's IDL."""

IdlText = Annotated[
    str,
    Text(
        r"^[\s\S]*\{[\s\S]*$",
        "is no text of Thrift's IDL with a struct",
        "write the .thrift file as producers have it",
        LONGEST_IDL,
    ),
]

StructName = Annotated[
    str, Text(r"^[A-Za-z_][A-Za-z0-9_]*$", "is not the name of a struct", "write it as the IDL has it", 500)
]


class ThriftSchema(Model):
    """A schema of Thrift, and which struct of it values are."""

    idl: IdlText
    """Text of Thrift's IDL, without `include`."""

    struct: StructName | None = None
    """Struct (or union) that values are. Default: the only one of the text."""
