"""Random schemas of protobuf, and values as the official library writes them, perhaps damaged."""

import base64
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2, timestamp_pb2, wrappers_pb2
from google.protobuf.message import Message
from hypothesis import strategies as st

Field = descriptor_pb2.FieldDescriptorProto
File = descriptor_pb2.FileDescriptorProto
Descriptor = descriptor_pb2.DescriptorProto
WELL_KNOWN = (timestamp_pb2, struct_pb2, wrappers_pb2)

SCALARS = [
    Field.TYPE_BOOL, Field.TYPE_INT32, Field.TYPE_INT64, Field.TYPE_UINT32, Field.TYPE_UINT64, Field.TYPE_SINT32,
    Field.TYPE_SINT64, Field.TYPE_FIXED32, Field.TYPE_FIXED64, Field.TYPE_SFIXED32, Field.TYPE_SFIXED64,
    Field.TYPE_FLOAT, Field.TYPE_DOUBLE, Field.TYPE_STRING, Field.TYPE_BYTES,
]  # fmt: skip
KEYS = [one for one in SCALARS if one not in (Field.TYPE_FLOAT, Field.TYPE_DOUBLE, Field.TYPE_BYTES)]
NAMED = [".google.protobuf.Timestamp", ".google.protobuf.Value", ".google.protobuf.Struct"]
NAMED += [".google.protobuf.StringValue", ".google.protobuf.UInt64Value"]


@st.composite
def files(draw: st.DrawFn, *, well_known: bool = True) -> File:
    """Return a file whose first message is `t.M`."""
    file = File(name="t.proto", package="t", syntax=draw(st.sampled_from(["proto2", "proto3"])))
    if well_known:
        file.dependency.extend(one.DESCRIPTOR.name for one in WELL_KNOWN)
    enum = file.enum_type.add(name="E")
    for number in (0, 1, 5, -2):
        enum.value.add(name=f"E{number % 100}", number=number)
    _message(draw, file, file.message_type.add(name="M"), "t.M", 2, well_known=well_known)
    return file


def _message(draw: st.DrawFn, file: File, message: Descriptor, full: str, depth: int, *, well_known: bool) -> None:
    names = draw(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True))
    numbers = draw(st.lists(st.sampled_from([1, 2, 3, 15, 16, 70, 2**29 - 1]), min_size=4, max_size=4, unique=True))
    for name, number in zip(names, numbers, strict=False):
        field = message.field.add(name=name, number=number, label=Field.LABEL_OPTIONAL)
        shapes = ["scalar", "scalar", "enum", "optional", "repeated", "oneof", "oneof", "map"]
        shape = draw(st.sampled_from([*shapes, "message", "message", "messages", "group"] if depth else shapes))
        if shape == "map":
            _map(draw, message, field, full)
            continue
        if shape in ("message", "messages", "group"):
            inner = message.nested_type.add(name=name.upper())
            field.type, field.type_name = Field.TYPE_MESSAGE, f".{full}.{name.upper()}"
            _message(draw, file, inner, f"{full}.{name.upper()}", depth - 1, well_known=well_known)
            if shape == "group" and file.syntax == "proto2":
                field.type, field.name = Field.TYPE_GROUP, name
        else:
            _scalar(draw, field, well_known=well_known)
        if shape in ("repeated", "messages"):
            field.label = Field.LABEL_REPEATED
        elif shape == "oneof":
            if not message.oneof_decl:
                message.oneof_decl.add(name="o")
            field.oneof_index = 0
    if file.syntax == "proto3":
        for field in message.field:
            if (
                field.label == Field.LABEL_OPTIONAL
                and not field.HasField("oneof_index")
                and draw(st.integers(0, 3)) == 0
            ):
                field.proto3_optional, field.oneof_index = True, len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field.name}")


def _scalar(draw: st.DrawFn, field: Any, *, well_known: bool) -> None:
    kind = draw(st.integers(0, 5))
    if kind == 0:
        field.type, field.type_name = Field.TYPE_ENUM, ".t.E"
    elif kind == 1 and well_known:
        field.type, field.type_name = Field.TYPE_MESSAGE, draw(st.sampled_from(NAMED))
    else:
        field.type = draw(st.sampled_from(SCALARS))


def _map(draw: st.DrawFn, message: Descriptor, field: Any, full: str) -> None:
    entry = message.nested_type.add(name=f"{field.name.upper()}Entry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=Field.LABEL_OPTIONAL, type=draw(st.sampled_from(KEYS)))
    value = entry.field.add(name="value", number=2, label=Field.LABEL_OPTIONAL, type=draw(st.sampled_from(SCALARS)))
    if draw(st.integers(0, 3)) == 0:
        value.type, value.type_name = Field.TYPE_ENUM, ".t.E"
    field.label, field.type, field.type_name = Field.LABEL_REPEATED, Field.TYPE_MESSAGE, f".{full}.{entry.name}"


def class_of(file: File, name: str = "t.M") -> type[Message]:
    """Return the class of a message, of a pool of its own."""
    pool = descriptor_pool.DescriptorPool()
    for one in WELL_KNOWN:
        pool.AddSerializedFile(one.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def text_of(file: File) -> str:
    """Return the descriptor set as a manifest has it."""
    return base64.b64encode(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()).decode()


_INTEGERS = {
    "int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1), "uint32": (0, 2**32 - 1), "uint64": (0, 2**64 - 1),
}  # fmt: skip


@st.composite
def filled(draw: st.DrawFn, made: Any) -> Any:
    """Fill a message at random."""
    for field in made.DESCRIPTOR.fields:
        if draw(st.integers(0, 3)) == 0:
            continue
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            entries = getattr(made, field.name)
            for _ in range(draw(st.integers(0, 2))):
                key = draw(scalars(field.message_type.fields_by_name["key"]))
                value = field.message_type.fields_by_name["value"]
                if value.message_type is None:
                    entries[key] = draw(scalars(value))
                else:
                    draw(filled(entries[key]))
        elif field.is_repeated:
            for _ in range(draw(st.integers(0, 3))):
                if field.message_type is not None:
                    draw(filled(getattr(made, field.name).add()))
                else:
                    getattr(made, field.name).append(draw(scalars(field)))
        elif field.message_type is not None:
            inner = getattr(made, field.name)
            inner.SetInParent()
            _fill_known(draw, inner) if field.message_type.full_name.startswith("google.") else draw(filled(inner))
        else:
            setattr(made, field.name, draw(scalars(field)))
    return made


def _fill_known(draw: st.DrawFn, inner: Any) -> None:
    match inner.DESCRIPTOR.name:
        case "Timestamp":
            inner.seconds, inner.nanos = draw(st.integers(-(2**37), 2**38)), draw(st.integers(-1, 10**9))
        case "StringValue":
            inner.value = draw(st.text(max_size=3))
        case "UInt64Value":
            inner.value = draw(st.integers(0, 2**64 - 1))
        case _:
            json = st.recursive(
                st.none() | st.booleans() | st.floats() | st.integers(-(2**60), 2**60).map(float) | st.text(max_size=3),
                lambda one: st.lists(one, max_size=2) | st.dictionaries(st.text(max_size=2), one, max_size=2),
                max_leaves=4,
            )
            value = struct_pb2.Value()
            set_json(
                value,
                draw(
                    st.dictionaries(st.text(max_size=2), json, max_size=2)
                    if inner.DESCRIPTOR.name == "Struct"
                    else json
                ),
            )
            inner.MergeFromString(
                (value.struct_value if inner.DESCRIPTOR.name == "Struct" else value).SerializeToString()
            )


def set_json(value: struct_pb2.Value, found: Any) -> None:
    """Make a value of JSON."""
    match found:
        case None:
            value.null_value = struct_pb2.NULL_VALUE
        case bool():
            value.bool_value = found
        case float():
            value.number_value = found
        case str():
            value.string_value = found
        case list():
            value.list_value.SetInParent()
            for one in found:
                set_json(value.list_value.values.add(), one)
        case dict():
            value.struct_value.SetInParent()
            for name, one in found.items():
                set_json(value.struct_value.fields[name], one)


def scalars(field: Any) -> "st.SearchStrategy[Any]":  # noqa: PLR0911  (one for each type)
    """Return values of a field that is no message."""
    match field.type:
        case Field.TYPE_BOOL:
            return st.booleans()
        case Field.TYPE_FLOAT:
            return st.floats(width=32)
        case Field.TYPE_DOUBLE:
            return st.floats()
        case Field.TYPE_STRING:
            return st.text(max_size=4) | st.sampled_from(["2026-11-21", "12.5", "2026-11-21T05:00:00Z", "23:59:59"])
        case Field.TYPE_BYTES:
            return st.binary(max_size=4)
        case Field.TYPE_ENUM:
            return st.sampled_from([0, 1, 5, -2])
        case Field.TYPE_INT32 | Field.TYPE_SINT32 | Field.TYPE_SFIXED32:
            low, high = _INTEGERS["int32"]
        case Field.TYPE_UINT32 | Field.TYPE_FIXED32:
            low, high = _INTEGERS["uint32"]
        case Field.TYPE_UINT64 | Field.TYPE_FIXED64:
            low, high = _INTEGERS["uint64"]
        case _:
            low, high = _INTEGERS["int64"]
    return st.integers(low, high) | st.integers(max(low, -100), 300)


@st.composite
def damaged(draw: st.DrawFn, made: type[Message]) -> bytes:
    """Return a value: one message, or several behind each other, which are one; perhaps damaged, perhaps anything."""
    pieces = [draw(filled(made())).SerializeToString() for _ in range(draw(st.sampled_from([1, 1, 2, 3])))]
    data = bytearray(b"".join(pieces))
    match draw(st.integers(0, 9)):
        case 0:
            del data[draw(st.integers(0, len(data))) :]
        case 1 | 2 if data:
            data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
        case 3:
            at = draw(st.integers(0, len(data)))
            data[at:at] = draw(st.binary(max_size=4))
        case 4:
            data += draw(
                st.sampled_from([b"\x08\x81\x80\x80\x80\x80\x80\x80\x80\x80\x01", b"\x0b\x08\x01\x0c", b"\xa2\x06\x00"])
            )
        case 5:
            data[:] = draw(st.binary(max_size=20))
    return bytes(data)
