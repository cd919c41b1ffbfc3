"""Rights of roles, one by one."""

from collections.abc import Iterator, Sequence

from tests.chart.helm import Document

Right = tuple[str, str, str]
"""API group, resource (with its subresource) and verb."""


def rights(rules: Sequence[Document]) -> Iterator[Right]:
    for rule in rules:
        for group in rule["apiGroups"]:
            for kind in rule["resources"]:
                for verb in rule["verbs"]:
                    yield group, kind, verb
