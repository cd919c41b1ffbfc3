"""Errors in a JSON Schema."""


class JsonSchemaError(ValueError):
    """A text that is no JSON Schema of objects."""


class NotJsonError(JsonSchemaError):
    """A text that is no JSON."""
