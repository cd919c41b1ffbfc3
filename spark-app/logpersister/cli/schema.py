"""``logpersister schema infer``: a schema to start from, as the last records of a topic suggest it."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from logpersister.cli import context, registered, sampling
from logpersister.cli.exits import CommandError, Exit
from logpersister.cli.judging import JSON, infer, judge
from logpersister.cli.tables import printable
from logpersister.records.inference import InferredField
from logpersister.values.rows import rows_of

MOST_NAMED: Final = 20
"""Fields that cannot be columns for the same reason and have a line each; names that are data can be many thousands."""
_KEPT: Final = "unknownFields: keep would store"


def run(arguments: argparse.Namespace) -> int:
    """Write the part of a manifest that has the schema, and on standard error what does not fit it."""
    manifest, secrets = context.begin(arguments)
    resource = registered.with_registry(manifest, arguments)
    sample = sampling.take(arguments, resource, secrets)
    schema = resource.spec.row_schema
    asks = schema.registry is not None and resource.spec.parser.framing != "plain"
    return registered.write(resource, sample, secrets) if asks else _infer(sample)


def _infer(sample: sampling.Sample) -> int:
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
    registered.tell_misfits(sample, judge(sample, rows_of(JSON, schema)))
    return Exit.OK


def _text(sample: sampling.Sample, fields: Sequence[InferredField]) -> Iterator[str]:
    yield f"# Inferred from {sample} of topic {printable(sample.topic)}."
    yield "# Other records may differ: check each line. Types: docs/schemas.md"
    yield "spec:"
    yield "  output: {parquet: {}}"
    yield "  value:"
    yield "    json:"
    yield "      fields:"
    yield from fields_text(fields)


def fields_text(fields: Sequence[InferredField]) -> Iterator[str]:
    """Yield a line for each field, and for fields that cannot be columns at most `MOST_NAMED` for each reason."""
    lines: list[tuple[str, str]] = []
    without: Counter[str] = Counter()
    for one in fields:
        if one.problem is not None:
            without[one.problem] += 1
            if without[one.problem] > MOST_NAMED:
                continue
        lines.append((registered.field_line(one.name, one.type if one.problem is None else None), _comment(one)))
    yield from registered.commented(lines)
    for problem, count in without.items():
        if count > MOST_NAMED:
            yield f"{'':8}# {count - MOST_NAMED:,} more: no column: {problem}; {_KEPT} them"


def _comment(one: InferredField) -> str:
    share = _share(one.share)
    if one.problem is not None:
        return f"{printable(one.name)}: no column: {one.problem}; {_KEPT} it ({share})"
    return f"{share}; {one.remark}" if one.remark else share


def _share(share: float) -> str:
    """Return a share as text; only exactly none and all are called so."""
    if share in (0, 1):
        return "in all" if share else "in none"
    return f"in {min(max(share, 0.001), 0.999):.1%}"
