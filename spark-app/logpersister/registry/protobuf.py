"""One protobuf schema of several: a file with those that it imports. Pure."""

import base64

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from logpersister.registry.answers import Schema
from logpersister.values.protobuf.errors import ProtobufError
from logpersister.values.protobuf.text import read_text


def self_contained(schema: Schema) -> str:
    """Return a schema with all that it refers to: its own text, or a descriptor set in base64. Raises ProtobufError.

    Of a file that others import in several versions, the first one counts.
    """
    if schema.type != "PROTOBUF":
        raise ProtobufError(f"it is registered as {schema.type}, not as protobuf")
    if not schema.references:
        return schema.text
    imported: dict[str, str] = {}
    for one in schema.references:
        imported.setdefault(one.name or one.text, one.text)
    files = [read_text(text, name) for name, text in imported.items()]
    return base64.b64encode(FileDescriptorSet(file=[*files, read_text(schema.text)]).SerializeToString()).decode()
