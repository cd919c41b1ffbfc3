"""Recipients of notifications about finished folders: ``spec.finish.webhook`` and ``spec.finish.kafka``."""

from datetime import timedelta
from typing import Annotated

from logpersister.forms.constraint import HOST, PORT, Duration, Model, SecretName, Text, never
from logpersister.manifest.blocks.kafka import TopicName

WebhookUrl = Annotated[
    str,
    Text(
        rf"^https?://{HOST}(:{PORT})?(/[A-Za-z0-9._~%!&'()*+,;=:/-]*)?([?][A-Za-z0-9._~%!&'()*+,;=:/?-]*)?$",
        "is not an http or https URL",
        "write for example https://hooks.example.com/folders",
        2000,
        before=(never("@", "has credentials in it", "put them in the Secret that secretName names"),),
    ),
]


class WebhookSpec(Model):
    """An HTTP server that gets the document of each finished folder by POST (docs/finish.md)."""

    url: WebhookUrl
    """Address, `http` or `https`."""

    secret_name: SecretName | None = None
    """Secret with `token` (a bearer token), `hmacKey` (Standard Webhooks), `ca.crt`; each is optional."""

    timeout: Annotated[timedelta, Duration("1s", "1m")] = timedelta(seconds=10)
    """How long to wait for the answer."""


class RecordSpec(Model):
    """A topic that gets a record for each finished folder (docs/finish.md)."""

    topic: TopicName
    """Topic in the cluster of `spec.kafka`, which must exist."""
