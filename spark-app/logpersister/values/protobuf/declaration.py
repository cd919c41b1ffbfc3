"""Schemas of protobuf as fields of the manifest."""

from typing import Annotated

from logpersister.forms.constraint import Text

LONGEST_PROTOBUF = 200_000
"""Characters of a schema of protobuf."""

ProtobufText = Annotated[
    str,
    Text(
        r"^\s*\S[\s\S]*$",
        "is neither a .proto text nor a descriptor set in base64",
        "write the text of the producers' .proto, or the descriptor set of protoc --include_imports in base64",
        LONGEST_PROTOBUF,
    ),
]

MessageName = Annotated[
    str,
    Text(
        r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$",
        "is not the name of a message",
        "write it with its package, for example shop.Order",
        500,
    ),
]
