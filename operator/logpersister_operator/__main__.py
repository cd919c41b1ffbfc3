"""``python -m logpersister_operator`` is the operator, and so is ``logpersister-operator``."""

import sys

from logpersister.imports import uncollected


def main() -> int:
    """Run the operator and return its exit code."""
    with uncollected():
        from logpersister_operator import process  # noqa: PLC0415 - that is the point of it
    return process.main()


if __name__ == "__main__":
    sys.exit(main())
