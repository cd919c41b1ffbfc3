"""Writer schemas, as parsers ask for them by the id in a value."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

from logpersister.values.parser import Framing, Parser

_HIGHEST: Final[Mapping[Framing, int]] = {"confluent": 2**31 - 1, "apicurio": 2**63 - 1}
"""Ids that are Java's integers, and not negative."""


def can_exist(writer_id: int, framing: Framing) -> bool:
    """Whether a registry could have given an id.

    Garbage has others. Confluent's registry would answer such a question as if its address were wrong.
    """
    return writer_id <= _HIGHEST.get(framing, writer_id)


def shown(writer_id: int, framing: Framing) -> str:
    """Return an id as people know it."""
    if framing == "glue":
        return str(UUID(int=writer_id))
    return f"{writer_id:016x}" if framing == "singleObject" else str(writer_id)


@dataclass(frozen=True, slots=True)
class WriterSchema:
    """Schema of an id, or why there is none."""

    text: str | None = None
    """Schema with its references: Avro and JSON Schema as JSON, or protobuf as `values.protobuf.schema` reads it.
    None: there is no schema of this id, or nobody can read it."""
    problem: str = ""
    """Why there is none."""
    is_unknown: bool = False
    """Whether that is because nobody knows the id."""
    kind: Parser | None = None
    """Kind of values that it describes, where that is known."""


NO_ID: Final = 2**32 - 1
"""In place of the id of a schema whose GUID nobody knows."""


class Writers(Protocol):
    """Knows by which schemas values were written. What it says of an id never changes."""

    def schemas(self, ids: Iterable[int]) -> Mapping[int, WriterSchema]:
        """Return the schemas of ids. May raise: then nothing is known, and the records have to wait."""

    def ids(self, guids: Iterable[int]) -> Mapping[int, int]:
        """Return the ids of schemas by their GUIDs; `NO_ID` where nobody knows it. May raise as `schemas` does."""

    def of_subject(self, subject: str) -> "Writers":
        """Return the schemas of a subject by their fingerprints."""


def asked_of(writers: Writers, ids: Iterable[int], framing: Framing) -> tuple[Mapping[int, WriterSchema], set[int]]:
    """Return the schemas of ids, and those ids that nobody knows. May raise what `writers` raises."""
    wanted = set(ids)
    nobodys = {one for one in wanted if not can_exist(one, framing)}
    asked = sorted(wanted - nobodys)
    found = writers.schemas(asked) if asked else {}
    nobodys |= {one for one, schema in found.items() if schema.is_unknown}
    return {one: schema for one, schema in found.items() if not schema.is_unknown}, nobodys


def for_framing(writers: Writers | None, framing: Framing, subject: str | None) -> Writers | None:
    """Return the writer schemas by the ids in headers; `subject`: of the registry, where ids are fingerprints."""
    if writers is None or framing != "singleObject":
        return writers
    if subject is None:
        raise ValueError("the subject is that of a topic: take the spec of one")
    return writers.of_subject(subject)
