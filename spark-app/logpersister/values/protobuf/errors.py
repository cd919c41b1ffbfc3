"""Errors in a protobuf schema."""


class ProtobufError(ValueError):
    """A text that is no schema of protobuf, or one that cannot be used."""


class NoImportError(ProtobufError):
    """A schema with a type that a file has which is imported, and not there."""
