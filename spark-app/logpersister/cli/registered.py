"""``logpersister schema infer --registry URL``: columns for the Avro schema by which the last records were written."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from logpersister.cli import context, registry, sampling
from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.judging import judge
from logpersister.cli.manifest_text import scalar
from logpersister.cli.tables import printable
from logpersister.manifest import LogPersister, avro_columns
from logpersister.manifest.field import FieldSpec
from logpersister.manifest.parser import Framing
from logpersister.manifest.protobuf import columns as protobuf_columns
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.secrets import Secrets
from logpersister.manifest.spec import Spec
from logpersister.manifest.written_column import WrittenColumn
from logpersister.records.quarantine import make_parser
from logpersister.records.writers import ID_BYTES, Writers
from logpersister.registry.kinds import SchemaTextError

_ANY = {"name": "any", "type": "string"}
MOST_TOLD = 5
"""Ids that are named besides the one that is taken."""


def with_registry(resource: LogPersister, arguments: argparse.Namespace) -> LogPersister:
    """Return the manifest with parser and registry of the command line, if that names one."""
    if arguments.registry is None:
        return resource
    named = {"url": arguments.registry, "secretName": arguments.registry_secret}
    schema = {"fields": [_ANY], "registry": {key: value for key, value in named.items() if value is not None}}
    # Its output may be about fields that are not known yet, and does not matter here.
    return context.changed(
        resource, parser={"type": arguments.parser, "framing": arguments.framing}, schema=schema, output={}
    )


def write(resource: LogPersister, sample: sampling.Sample, secrets: Secrets) -> int:
    """Write the part of a manifest that has parser and schema, and on standard error what does not fit it."""
    spec = resource.spec
    ids = _ids(sample, spec.parser.framing)
    if not ids:
        size = ID_BYTES[spec.parser.framing]
        told = f"topic {sample.topic}: no schema: no value begins with a zero byte and an id of {size} bytes"
        raise CommandError(f"{told}; try another --framing, or for JSON leave --registry out", Exit.FAILED)
    with registry.opened(resource, secrets) as writers:
        assert writers is not None
        newest, columns = _newest(ids, writers, spec)
        fields = [one for one in columns if one.type is not None]
        if not fields:
            raise CommandError(f"topic {sample.topic}: schema {newest} has no field that can be a column", Exit.FAILED)
        sys.stdout.writelines(f"{line}\n" for line in _head(spec, sample, _told(ids, newest)))
        sys.stdout.writelines(f"{line}\n" for line in _fields(columns))
        schema = SchemaSpec(fields=tuple(FieldSpec(name=one.name, type=str(one.type)) for one in fields))
        parser = make_parser(spec.parser, schema, writers)
        assert parser is not None
        misfits = judge(sample, parser)
    if misfits.refused:
        print(f"{misfits.said_of(sample)} do not fit and would go into quarantine: {misfits}", file=sys.stderr)
    print("next: put it into the manifest, then logpersister try -f FILE", file=sys.stderr)
    return Exit.OK


def _ids(sample: sampling.Sample, framing: Framing) -> Counter[int]:
    """Return the ids before values, with the number of their records."""
    size = 1 + ID_BYTES[framing]
    values = (value for _, batch in sample.batches for value in batch.column("value").to_pylist())
    heads = (value[:size] for value in values if value is not None)
    return Counter(int.from_bytes(head[1:], "big") for head in heads if len(head) == size and head[0] == 0)


def _newest(ids: Counter[int], writers: Writers, spec: Spec) -> tuple[int, list[WrittenColumn]]:
    """Return the highest id whose schema has columns, and those: registries count upwards."""
    problems: list[str] = []
    for one, schema in sorted(writers.schemas(ids).items(), reverse=True):
        if schema.text is None:
            problems.append(schema.problem)
            continue
        try:
            return one, _columns(schema.text, spec)
        except SchemaTextError as error:
            problems.append(f"schema {one}: {error}")
    raise CommandError(f"no schema: {'; '.join(problems[:MOST_TOLD])}", Exit.FAILED)


def _columns(text: str, spec: Spec) -> list[WrittenColumn]:
    if spec.parser.type == "avro":
        return avro_columns.columns_of(text)
    return protobuf_columns.columns_of(text, spec.row_schema.message if spec.row_schema is not None else None)


def _told(ids: Counter[int], newest: int) -> str:
    others = [f"{one} ({count:,})" for one, count in ids.most_common() if one != newest]
    more = f", and {len(others) - MOST_TOLD} more" if len(others) > MOST_TOLD else ""
    return f"schema {newest}" + (f"; others: {', '.join(others[:MOST_TOLD])}{more}" if others else "")


def _head(spec: Spec, sample: sampling.Sample, told: str) -> Iterator[str]:
    yield f"# From the newest schema of {sample} of topic {printable(sample.topic)}: {told}."
    kind, framing = spec.parser.type, spec.parser.framing
    yield f"# Nothing is required, so that later schemas may leave fields out. Types: docs/schemas.md#{kind}"
    yield "spec:"
    yield f"  parser: {{type: {spec.parser.type}{'' if framing == 'confluent' else f', framing: {framing}'}}}"
    yield "  output: {format: parquet}"
    yield "  schema:"
    named = spec.row_schema.registry if spec.row_schema is not None else None
    if named is not None:
        secret = "" if named.secret_name is None else f", secretName: {scalar(named.secret_name)}"
        yield f"    registry: {{url: {scalar(named.url)}{secret}}}"


def _fields(columns: Sequence[WrittenColumn]) -> Iterator[str]:
    yield "    fields:"
    lines = [_line(one) for one in columns]
    width = max(map(len, lines))
    for line, one in zip(lines, columns, strict=True):
        remark = printable(one.remark)
        yield f"{line:{width}}  # {remark}" if line else f"      # {printable(one.name)}: no column: {remark}"


def _line(one: WrittenColumn) -> str:
    if one.type is None:
        return ""
    return f"      - {{name: {scalar(one.name)}, type: {scalar(str(one.type))}}}"
