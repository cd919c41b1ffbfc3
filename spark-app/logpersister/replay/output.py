"""How a revision writes the records of a topic, for replays."""

from dataclasses import dataclass

from logpersister.compiled.topic import CompiledTopic
from logpersister.manifest.revisions.revision import Revision


@dataclass(frozen=True, slots=True)
class TopicOutput:
    """How a revision writes the records of a topic."""

    revision: Revision
    topic: CompiledTopic
