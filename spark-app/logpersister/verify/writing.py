"""How a revision has written the records of a topic."""

from dataclasses import dataclass

from logpersister.compiled.topic import CompiledTopic


@dataclass(frozen=True)
class Writing(CompiledTopic):
    """How a revision writes records."""

    other_rules: str = ""
    """Who wrote by other rules than ours, and by which: then what differs proves nothing. Empty: nobody."""
