"""Kubernetes service account of the pods, their identity to a cloud's provider."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from logpersister.forms.constraint import Model, String, Text
from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses

AccountName = Annotated[
    str,
    Text(
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        "is not the name of a service account",
        "write lower case letters, digits, - and .",
        longest=253,
    ),
]
AnnotationValue = Annotated[
    str, Text(r"^[^\x00-\x1f]*$", "has a line break or another control character", "write it on one line", 4096)
]


class ServiceAccountSpec(Model):
    """The service account of members and executors."""

    name: AccountName | None = None
    """Existing account of members and executors. Default: accounts of the resource's own.
    """

    annotations: Annotated[dict[String, AnnotationValue], Field(max_length=100)] = Field(default_factory=dict)
    """Annotations of the accounts that the operator creates, for example `eks.amazonaws.com/role-arn`."""

    @refuses
    def _an_existing_account_is_not_changed(self) -> Iterator[Finding]:
        if self.name is not None and self.annotations:
            told = "are for accounts that the operator makes, and it never changes the one that is named"
            yield Finding(told, "annotate that account yourself, or remove its name", ("annotations",))
