"""``logpersister schema infer``: a schema to start from, as the last records of a topic suggest it."""

import argparse
import sys
from collections.abc import Iterator, Sequence

from logpersister.cli import context, registered, sampling
from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.inferring import JSON, infer
from logpersister.cli.judging import judge
from logpersister.cli.manifest_text import scalar
from logpersister.cli.tables import printable
from logpersister.records.inference import InferredField
from logpersister.records.rows import make_rows
from logpersister.report import logs


def run(arguments: argparse.Namespace) -> int:
    """Write the part of a manifest that has the schema, and on standard error what does not fit it."""
    logs.configure(level="error")
    resource = registered.with_registry(context.manifest(arguments.file), arguments)
    secrets = context.secrets(arguments, logs.redactor)
    sample = sampling.take(arguments, resource, secrets)
    schema = resource.spec.row_schema
    asks = schema is not None and schema.registry is not None and resource.spec.parser.framing != "plain"
    return registered.write(resource, sample, secrets) if asks else _infer(sample)


def _infer(sample: sampling.Sample) -> int:
    """Write the part of a manifest that has the schema of JSON values."""
    found = infer(sample)
    schema, no_objects = found.schema, found.no_objects
    if schema is None:
        raise CommandError(
            f"topic {sample.topic}: no schema: {no_objects.said_of(sample)} are no JSON objects ({no_objects})"
            if no_objects.refused
            else f"topic {sample.topic}: no schema: no value has a field that can be a column",
            Exit.FAILED,
        )
    sys.stdout.writelines(f"{line}\n" for line in _text(sample, found.fields))
    misfits = judge(sample, make_rows(JSON, schema))
    if misfits.refused:
        print(f"{misfits.said_of(sample)} do not fit and would go into quarantine: {misfits}", file=sys.stderr)
    print("next: put it into the manifest, then logpersister try -f FILE", file=sys.stderr)
    return Exit.OK


def _text(sample: sampling.Sample, fields: Sequence[InferredField]) -> Iterator[str]:
    yield f"# Inferred from {sample} of topic {printable(sample.topic)}."
    yield "# Other records may differ: check each line. Types: docs/schemas.md"
    yield "spec:"
    yield "  parser: {type: json}"
    yield "  schema:"
    yield "    fields:"
    lines = [(_line(one), _comment(one)) for one in fields]
    width = max(len(line) for line, _ in lines)
    for line, comment in lines:
        yield f"{line:{width}}  # {comment}" if line else f"{'':6}# {comment}"
    yield "  output: {format: parquet}"


def _line(one: InferredField) -> str:
    return f"      - {{name: {scalar(one.name)}, type: {scalar(str(one.type))}}}" if one.problem is None else ""


def _comment(one: InferredField) -> str:
    share = "in all" if one.share == 1 else f"in {max(one.share, 0.001):.1%}"
    if one.problem is not None:
        kept = "unknownFields: keep would store it"
        return f"{printable(one.name)}: no column: {one.problem}; {kept} ({share})"
    return f"{share}; {one.remark}" if one.remark else share
