"""What is wrong with a schema."""


class ThriftError(ValueError):
    """A text that is no IDL of Thrift, or one that cannot be used."""
