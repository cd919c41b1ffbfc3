"""From the manifest to a format."""

from typing import Any, get_args

import pytest

from logpersister.formats.compression import Compression
from logpersister.formats.registry import make_format
from logpersister.formats.sequencefile import SequenceFileFormat
from logpersister.formats.sequencefile_keys import KeyLayout
from logpersister.formats.sequencefile_layout import CompressionType, SequenceFileCompression, SequenceFileOptions
from logpersister.formats.text import DelimiterInValue, TextFormat, TextOptions
from logpersister.formats.tombstones import Tombstones
from logpersister.manifest.format_settings import SequenceFileSpec, TextSpec
from logpersister.manifest.output import COMPRESSIONS, OutputSpec
from tests.unit.formats.samples import batch, encode, many_records, with_headers


def _output(**document: Any) -> OutputSpec:
    return OutputSpec.model_validate(document)


@pytest.mark.parametrize(
    ("name", "compression"), [(name, each) for name, allowed in COMPRESSIONS.items() for each in allowed]
)
def test_everything_that_the_manifest_allows_exists(name: str, compression: str) -> None:
    made = make_format(_output(format=name, compression=compression))
    assert encode(made, [with_headers(batch(many_records(1000)))])


def test_the_manifest_allows_everything_that_exists() -> None:
    assert set(COMPRESSIONS["text"]) == set(Compression)
    assert set(COMPRESSIONS["sequencefile"]) == set(SequenceFileCompression)
    assert set(COMPRESSIONS["jsonl"]) == set(Compression)
    for spec, field, choices in (
        (TextSpec, "tombstones", Tombstones),
        (TextSpec, "delimiter_in_value", DelimiterInValue),
        (SequenceFileSpec, "key", KeyLayout),
        (SequenceFileSpec, "compression_type", CompressionType),
        (SequenceFileSpec, "tombstones", Tombstones),
    ):
        assert set(get_args(spec.model_fields[field].annotation)) == set(choices), field


def test_defaults_agree() -> None:
    assert make_format(_output(format="text", compression="none")) == TextFormat(TextOptions())
    assert make_format(_output(format="sequencefile", compression="none")) == SequenceFileFormat(SequenceFileOptions())


def test_text_settings() -> None:
    settings = {"delimiter": "¶", "tombstones": "empty", "delimiterInValue": "escape"}
    assert make_format(_output(format="text", compression="zstd", text=settings)) == TextFormat(
        TextOptions(Compression.ZSTD, "¶".encode(), Tombstones.EMPTY, DelimiterInValue.ESCAPE)
    )


def test_sequencefile_settings() -> None:
    settings = {"key": "messagepack", "compressionType": "record", "tombstones": "skip"}
    assert make_format(
        _output(format="sequencefile", compression="deflate", sequencefile=settings)
    ) == SequenceFileFormat(
        SequenceFileOptions(
            SequenceFileCompression.DEFLATE, CompressionType.RECORD, KeyLayout.MESSAGEPACK, Tombstones.SKIP
        )
    )
