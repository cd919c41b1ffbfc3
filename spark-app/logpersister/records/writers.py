"""By which schemas values were written: what parsers with writers' schemas ask."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from logpersister.manifest.parser import Framing

ID_BYTES: Final[Mapping[Framing, int]] = {"confluent": 4, "apicurio": 8}
"""Behind a zero byte, the highest first."""


def can_exist(writer_id: int, framing: Framing) -> bool:
    """Whether a registry could have given an id: they are Java's integers, and not negative.

    Garbage has others. Confluent's registry would answer such a question as if its address were wrong.
    """
    return writer_id < 1 << (8 * ID_BYTES[framing] - 1)


@dataclass(frozen=True, slots=True)
class WriterSchema:
    """What is known of the id of a schema."""

    text: str | None = None
    """With all that it refers to: Avro as JSON, or protobuf as `manifest.protobuf.schema` reads it. None: there is no
    schema of this id, or it is of another kind."""
    problem: str = ""
    """Why there is none."""
    is_unknown: bool = False
    """Whether that is because nobody knows the id."""


NOBODYS: Final = WriterSchema(is_unknown=True)
"""Of an id that cannot exist."""


class Writers(Protocol):
    """Knows by which schemas values were written. What it says of an id never changes."""

    def schemas(self, ids: Iterable[int]) -> Mapping[int, WriterSchema]:
        """Return the schemas of ids. May raise: then nothing is known, and the records have to wait."""


def asked_of(writers: Writers, ids: Iterable[int], framing: Framing) -> tuple[Mapping[int, WriterSchema], set[int]]:
    """Return the schemas of ids, and those ids that nobody knows. May raise what `writers` raises."""
    wanted = set(ids)
    nobodys = {one for one in wanted if not can_exist(one, framing)}
    asked = sorted(wanted - nobodys)
    found = writers.schemas(asked) if asked else {}
    nobodys |= {one for one, schema in found.items() if schema.is_unknown}
    return {one: schema for one, schema in found.items() if not schema.is_unknown}, nobodys
