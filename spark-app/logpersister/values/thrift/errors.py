"""Errors in a Thrift schema."""


class ThriftError(ValueError):
    """A text that is no IDL of Thrift, or one that cannot be used."""


class UnfitColumnError(ThriftError):
    """A column that no field of the struct can become."""

    def __init__(self, path: str, told: str, known: tuple[str, ...] = ()) -> None:
        super().__init__(f"{path}: {told}")
        self.path = path
        """The column, or the field in it."""
        self.told = told
        self.known = known
        """The fields that the struct has, where there is none of that name."""
