"""One protobuf schema of several: a file with those that it imports. Pure."""

import base64

from logpersister.manifest.protobuf.descriptors import write_set
from logpersister.manifest.protobuf.errors import ProtobufError
from logpersister.manifest.protobuf.text import read_text
from logpersister.registry.client import Schema


def self_contained(schema: Schema) -> str:
    """Return a schema with all that it refers to: its own text, or a descriptor set in base64. Raises ProtobufError."""
    if schema.type != "PROTOBUF":
        raise ProtobufError(f"it is registered as {schema.type}, not as protobuf")
    if not schema.references:
        return schema.text
    files = [read_text(one.text) for one in (*schema.references, schema)]
    return base64.b64encode(write_set(files)).decode()
