"""``logpersister schema infer --registry URL``: columns for the newest schema by which records were written."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, cast

import numpy as np
import pyarrow as pa

from logpersister.cli import context, registry, sampling
from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.judging import Judgement, judge
from logpersister.cli.manifest_text import scalar
from logpersister.cli.tables import printable
from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets
from logpersister.manifest.spec import Spec
from logpersister.records.type_layout import make_parser
from logpersister.schemas.errors import SchemaTextError
from logpersister.schemas.written_column import WrittenColumn
from logpersister.values.avro import columns as avro_columns
from logpersister.values.field import FieldSpec
from logpersister.values.json import columns as json_columns
from logpersister.values.parser import Framing
from logpersister.values.protobuf import columns as protobuf_columns
from logpersister.values.protobuf.source import protobuf_of
from logpersister.values.reading.columns import portion_of
from logpersister.values.reading.record_headers import with_ids
from logpersister.values.reading.schema_ids import ids_of
from logpersister.values.reading.writers import Writers, can_exist, for_framing, shown

_ANY = {"name": "any", "type": "string"}
MOST_TOLD = 5
"""Ids that are named besides the one that is taken."""


def with_registry(resource: LogPersister, arguments: argparse.Namespace) -> LogPersister:
    """Return the manifest with values and registry of the command line, if that names one."""
    if arguments.registry is None:
        return resource
    named = {"url": arguments.registry, "secretName": arguments.registry_secret}
    registry_spec = {key: value for key, value in named.items() if value is not None}
    if arguments.parser == "json":
        block = {"registry": registry_spec, "framing": arguments.framing}
    elif arguments.framing == "singleObject":
        block = {"registry": registry_spec, "singleObject": {}, "fields": [_ANY]}
    else:
        framing = {"framing": arguments.framing} if arguments.framing == "apicurio" else {}
        block = {"registry": registry_spec | framing, "fields": [_ANY]}
    # Its output may be about fields that are not known yet, and does not matter here.
    return context.changed(resource, value={arguments.parser: block}, output={})


def write(resource: LogPersister, sample: sampling.Sample, secrets: Secrets) -> int:
    """Write the part of a manifest that has the value, and on standard error what does not fit it."""
    spec = resource.spec.for_topic(sample.topic)
    with registry.opened(resource, secrets) as writers:
        assert writers is not None
        assert spec.row_schema.registry is not None
        known = for_framing(writers, spec.parser.framing, spec.row_schema.registry.subject)
        assert known is not None
        ids = _Ids.of(sample, spec.parser.framing, known)
        if not ids.counts:
            told = f"topic {sample.topic}: no schema: no value begins with a header of framing {spec.parser.framing}"
            raise CommandError(f"{told}; try another --framing, or for JSON leave --registry out", Exit.FAILED)
        newest, columns = _newest(ids, known, spec)
        fields = [one for one in columns if one.type is not None]
        if not fields:
            raise CommandError(f"topic {sample.topic}: schema {newest} has no field that can be a column", Exit.FAILED)
        sys.stdout.writelines(f"{line}\n" for line in _head(spec, sample, ids.told(newest)))
        named = ((one, printable(one.remark)) for one in columns)
        lines = [
            (field_line(one.name, one.type), told if one.type else f"{printable(one.name)}: no column: {told}")
            for one, told in named
        ]
        sys.stdout.writelines(f"{line}\n" for line in commented(lines))
        declared = tuple(FieldSpec(name=one.name, type=str(one.type)) for one in fields)
        schema = replace(spec.row_schema, fields=declared)
        parser = make_parser(spec.parser, schema, writers)
        assert parser is not None
        misfits = judge(sample, parser, portion_of(spec.parser, schema))
    tell_misfits(sample, misfits)
    return Exit.OK


def tell_misfits(sample: sampling.Sample, misfits: Judgement) -> None:
    """Say on standard error what of a sample does not fit a schema, and what to do next."""
    if misfits.refused:
        print(f"{misfits.said_of(sample)} do not fit and would go into quarantine: {misfits}", file=sys.stderr)
    print("next: put it into the manifest, then logpersister try -f FILE", file=sys.stderr)


@dataclass(frozen=True, slots=True)
class _Ids:
    counts: Counter[int]
    """The number of their records."""
    framing: Framing
    seen: Mapping[int, tuple[int, int]]
    """Time and offset of the last record of each."""

    @classmethod
    def of(cls, sample: sampling.Sample, framing: Framing, writers: Writers) -> Self:
        counts: Counter[int] = Counter()
        seen: dict[int, tuple[int, int]] = {}
        for _, batch in sample.batches:
            ids, places = ids_of(cast("pa.BinaryArray", with_ids(batch, framing, writers).column("value")), framing)
            for place, one in enumerate(ids):
                if not can_exist(one, framing):
                    continue
                rows = np.flatnonzero(places == place)
                counts[one] += len(rows)
                last = batch.slice(int(rows[-1]), 1)
                at = last.column("timestamp")[0].as_py(), last.column("offset")[0].as_py()
                seen[one] = max(at, seen.get(one, at))
        return cls(counts, framing, seen)

    def newest_first(self) -> list[int]:
        """Return the ids: registries count upwards, and of what is no count the last record tells."""
        if self.framing in ("confluent", "apicurio"):
            return sorted(self.counts, reverse=True)
        return sorted(self.counts, key=lambda one: self.seen[one], reverse=True)

    def told(self, newest: int) -> str:
        """Return which schemas there are, for people."""
        others = [f"{shown(one, self.framing)} ({n:,})" for one, n in self.counts.most_common() if one != newest]
        more = f", and {len(others) - MOST_TOLD} more" if len(others) > MOST_TOLD else ""
        return f"schema {shown(newest, self.framing)}" + (
            f"; others: {', '.join(others[:MOST_TOLD])}{more}" if others else ""
        )


def _newest(ids: _Ids, writers: Writers, spec: Spec) -> tuple[int, list[WrittenColumn]]:
    problems: list[str] = []
    found = writers.schemas(ids.counts)
    for one in ids.newest_first():
        schema = found[one]
        if schema.text is None:
            problems.append(schema.problem)
            continue
        try:
            return one, _columns(schema.text, spec)
        except SchemaTextError as error:
            problems.append(f"schema {shown(one, ids.framing)}: {error}")
    raise CommandError(f"no schema: {'; '.join(problems[:MOST_TOLD])}", Exit.FAILED)


def _columns(text: str, spec: Spec) -> list[WrittenColumn]:
    match spec.parser.type:
        case "avro":
            return avro_columns.columns_of(text)
        case "json":
            return json_columns.columns_of(text)
    return protobuf_columns.columns_of(text, protobuf_of(spec.row_schema).message)


def _head(spec: Spec, sample: sampling.Sample, told: str) -> Iterator[str]:
    yield f"# From the newest schema of {sample} of topic {printable(sample.topic)}: {told}."
    kind, framing = spec.parser.type, spec.parser.framing
    page = "json-schema" if kind == "json" else kind
    yield f"# Nothing is required, so that later schemas may leave fields out. Types: docs/schemas.md#{page}"
    yield "spec:"
    yield "  output: {parquet: {}}"
    yield "  value:"
    yield f"    {kind}:"
    named = spec.row_schema.registry
    if kind == "json":
        yield f"      framing: {framing}"
    elif named is not None:
        secret = "" if named.secret_name is None else f", secretName: {scalar(named.secret_name)}"
        usual = named.model_copy(update={"subject": None}).subject_of(sample.topic)
        subject = "" if named.subject in (None, usual) else f", subject: {scalar(named.subject)}"
        header = ", framing: apicurio" if framing == "apicurio" else ""
        yield f"      registry: {{url: {scalar(named.url)}{secret}{subject}{header}}}"
        yield from ["      singleObject: {}"] if framing == "singleObject" else []
    yield "      fields:"


def field_line(name: str, type_: object) -> str:
    """Return the line of a field; empty without a type, which is no column."""
    return "" if type_ is None else f"        - {{name: {scalar(name)}, type: {scalar(str(type_))}}}"


def commented(lines: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield lines with comments, which stand below each other; those of empty lines stand as fields do."""
    width = max(len(line) for line, _ in lines)
    for line, comment in lines:
        yield f"{line:{width}}  # {comment}" if line else f"{'':8}# {comment}"
