"""Errors of texts that are to be schemas."""

from typing import ClassVar, Final

OTHER_COLUMNS: Final = "correct it, or name the columns in fields of spec.value"
CORRECT: Final = "correct the schema"


class SchemaTextError(ValueError):
    """A text that is no schema in its language, or one that cannot be used."""

    remedy: ClassVar[str] = CORRECT


class NoColumnsError(SchemaTextError):
    """A schema of which values have no columns."""

    remedy = OTHER_COLUMNS


class NoImportError(SchemaTextError):
    """A schema of protobuf with a type that a file has which is imported, and not there."""

    remedy = "write a descriptor set of protoc --include_imports in base64 (docs/schemas.md#protobuf)"
