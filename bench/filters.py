"""``make bench ARGS=filters``: what conditions on records cost and save, alone: CPU of rows, Parquet and facts.

JSON events of one range. Each case runs in a process of its own (`bench.one_range`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bench.events import COUNTRIES, SCHEMA
from bench.folders import batches
from bench.one_range import compare
from logpersister.manifest.spec import Spec

_ALL: Final[Sequence[Mapping[str, Any]]] = (
    {"field": "geo.country", "in": list(COUNTRIES)},
    {"field": "amount", "atLeast": 0, "below": 1000},
    {"field": "at", "atLeast": "2026-11-21T00:00:00Z"},
    {"field": "user", "matches": "^[0-9a-f]{32}$"},
)
CASES: Final[Mapping[str, Sequence[Mapping[str, Any]]]] = {
    "no conditions": (),
    "in, of 4 texts: all kept": _ALL[:1],
    "matches: all kept": _ALL[3:],
    "four conditions: all kept": _ALL,
    "in: half kept": ({"field": "geo.country", "in": ["DE", "FR"]},),
    "below: 1 in 100 kept": ({"field": "amount", "below": 10},),
}


def spec_of(keep: Sequence[Mapping[str, Any]]) -> Spec:
    """Return a spec that stores events as Parquet."""
    return Spec.model_validate(
        {
            "kafka": {"bootstrapServers": "none:9092", "topics": ["events"]},
            "storage": {"bucket": "none"},
            "value": {"json": dict(SCHEMA)},
            "output": {"parquet": {}},
            "keep": [dict(one) for one in keep],
        }
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    specs = {name: spec_of(keep) for name, keep in CASES.items()}
    compare("filters", __doc__, specs, lambda _, *sizes: batches(*sizes), arguments)
