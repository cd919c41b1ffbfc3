"""Name of the consumer group of a replay. Pure."""

from typing import Literal


def replay_group(group: str, generation: int | Literal[""]) -> str:
    """Return the consumer group whose committed offsets are the progress of a replay; of none: what all begin with."""
    return f"{group}-replay-{generation}"
