"""Decodes Kafka record batches into Arrow buffers, tells which values are JSON, and makes typed rows of them.

The modules `logpersister.pipeline.reader.decode` and `logpersister.values.reading.parsers` offer it.

Written in Rust (spark-app/native).
"""

from logpersister_native._native import (
    REASONS,
    AvroParser,
    CorruptBatchError,
    CsvParser,
    MessagePackParser,
    MessageParts,
    ParquetWriter,
    ProtobufParser,
    RegexParser,
    RowParser,
    Run,
    Selected,
    ThriftParser,
    avro_datums,
    avro_fingerprint,
    decode,
    decompress,
    instants,
    json_lines,
    json_texts,
    keyed_hashes,
    not_json,
    numbers,
    parts,
    schema_keys,
    select,
)

__all__ = [
    "REASONS",
    "AvroParser",
    "CorruptBatchError",
    "CsvParser",
    "MessagePackParser",
    "MessageParts",
    "ParquetWriter",
    "ProtobufParser",
    "RegexParser",
    "RowParser",
    "Run",
    "Selected",
    "ThriftParser",
    "avro_datums",
    "avro_fingerprint",
    "decode",
    "decompress",
    "instants",
    "json_lines",
    "json_texts",
    "keyed_hashes",
    "not_json",
    "numbers",
    "parts",
    "schema_keys",
    "select",
]
