"""Kubernetes service account of the pods, their identity to a cloud's provider."""

from typing import Annotated

from pydantic import Field

from logpersister.manifest.constraint import Model, String, Text
from logpersister.manifest.rule import rule

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
    """Existing account of members and executors. With executors the operator binds it to the right to run pods.
    Default: accounts of the resource's own.
    """

    annotations: Annotated[dict[String, AnnotationValue], Field(max_length=100)] = Field(default_factory=dict)
    """Annotations of the accounts that the operator creates, for example `eks.amazonaws.com/role-arn`."""

    @rule(
        "!has(self.name) || !has(self.annotations) || self.annotations.size() == 0",
        "are for accounts that the operator makes, and it never changes the one that is named",
        "annotate that account yourself, or remove its name",
        "annotations",
    )
    def _an_existing_account_is_not_changed(self) -> bool:
        return self.name is None or not self.annotations
