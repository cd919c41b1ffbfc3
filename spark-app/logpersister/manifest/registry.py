"""``spec.schema.registry``: who knows by which schemas values were written."""

from typing import Annotated

from logpersister.manifest.constraint import Model, SecretName, Text, never
from logpersister.manifest.network import HOST, PORT

RegistryUrl = Annotated[
    str,
    Text(
        rf"^https?://{HOST}(:{PORT})?(/[A-Za-z0-9._~%/-]*)?$",
        "is not an http or https URL of a schema registry",
        "write what producers have as schema.registry.url, for example https://registry.example.com",
        2000,
        before=(never("@", "has credentials in it", "put them in the Secret that secretName names"),),
    ),
]


class RegistrySpec(Model):
    """A schema registry that speaks Confluent's API, as also Apicurio and Karapace do."""

    url: RegistryUrl
    """Address, as producers have it in `schema.registry.url`. Of Apicurio: `http://HOST:8080/apis/ccompat/v7`."""

    secret_name: SecretName | None = None
    """Secret with `username` and `password`, or with `token`; and `ca.crt` where the certificate is not signed by a
    public authority. Default: the registry asks for nothing."""
