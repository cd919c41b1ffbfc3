"""The definitions of all kinds of our resources."""

from typing import Final

from logpersister_operator.crd import feed_collector, logpersister, logreplay

DEFINITIONS: Final = (logpersister.DEFINITION, feed_collector.DEFINITION, logreplay.DEFINITION)
