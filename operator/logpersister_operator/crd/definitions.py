"""The definitions of all kinds of our resources."""

from typing import Final

from logpersister_operator.crd import logpersister

DEFINITIONS: Final = (logpersister.DEFINITION,)
