"""Values behind the headers of registries, as serializers write them, perhaps damaged."""

import zlib
from typing import Any
from uuid import UUID

from google.protobuf import descriptor_pool
from hypothesis import strategies as st

from logpersister.values.parser import Framing
from tests.unit.records.protobuf_samples import File

GLUE_ID = UUID("0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f0").int


def framed(body: bytes, framing: Framing, schema_id: int, *, deflated: bool = False) -> bytes:
    """Return a value: a header, and what the schema has written."""
    match framing:
        case "confluent":
            return b"\0" + schema_id.to_bytes(4, "big") + body
        case "apicurio":
            return b"\0" + schema_id.to_bytes(8, "big") + body
        case "singleObject":
            return b"\xc3\x01" + schema_id.to_bytes(8, "little") + body
        case "glue":
            head = bytes([3, 5 if deflated else 0]) + UUID(int=schema_id).bytes
            return head + (zlib.compress(body) if deflated else body)
    return body


@st.composite
def damaged(draw: st.DrawFn, value: bytes) -> bytes:
    """Return a value as it is, or with something wrong in it."""
    data = bytearray(value)
    match draw(st.integers(0, 11)):
        case 0:
            del data[draw(st.integers(0, len(data))) :]
        case 1:
            data += draw(st.binary(min_size=1, max_size=3))
        case 2 | 3 if data:
            data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
        case 4:
            data[18:] = draw(st.binary(max_size=30))
    return bytes(data)


def place_in_file(file: File, message: str) -> int:
    """Return the number of a message as Glue's serializers count: all of the file, in the order of their full names."""
    pool = descriptor_pool.DescriptorPool()
    for name in file.dependency:
        pool.AddSerializedFile(descriptor_pool.Default().FindFileByName(name).serialized_pb)
    pool.Add(file)
    waiting: list[Any] = list(pool.FindFileByName(file.name).message_types_by_name.values())
    names = []
    while waiting:
        one = waiting.pop()
        names.append(one.full_name)
        waiting += one.nested_types  # with entries of maps
    return sorted(names).index(message)
