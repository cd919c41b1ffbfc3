"""``spec.schema.registry``: who knows by which schemas values were written, and by which rows are made."""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from logpersister.manifest.constraint import BOUNDS, Model, SecretName, Text, never, written_as_text
from logpersister.manifest.network import HOST, PORT
from logpersister.manifest.problems import refuse
from logpersister.manifest.rule import VALIDATIONS

LATEST: Final = "latest"
LATEST_PATTERN: Final = "^latest$"
TOPIC: Final = "{topic}"
DEFAULT_SUBJECT: Final = f"{TOPIC}-value"
"""As serializers name it, unless somebody has configured another strategy."""
_HIGHEST: Final = 2**31 - 1

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

Subject = Annotated[
    str,
    Text(
        r"^([^{}\s]|\{topic\})+$",
        "is not the name of a subject",
        f"write it without spaces; {TOPIC} stands for the topic, for example {DEFAULT_SUBJECT}",
        500,
    ),
]


@dataclass(frozen=True, slots=True)
class VersionOfSubject:
    """A version of a subject: a number from 1, or ``latest``."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return written_as_text(self.validate, lambda version: version)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        fits = f"type(self) == int ? self >= 1 && self <= {_HIGHEST} : self == '{LATEST}'"
        return {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": LATEST_PATTERN,
            "maxLength": len(LATEST),
            "x-kubernetes-int-or-string": True,
            BOUNDS: "from 1",
            VALIDATIONS: [{"rule": fits, "message": f"{_NO_VERSION}; {_VERSION_REMEDY}"}],
        }

    def validate(self, value: object) -> int | Literal["latest"]:
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _HIGHEST:
            return value
        if value == LATEST:
            return "latest"
        raise refuse(_NO_VERSION, _VERSION_REMEDY)


_NO_VERSION: Final = "is neither latest nor the number of a version"
_VERSION_REMEDY: Final = "write latest, or for example 3"


class RegistrySpec(Model):
    """A schema registry that speaks Confluent's API, as also Apicurio and Karapace do."""

    url: RegistryUrl
    """Address, as producers have it in `schema.registry.url`. For Apicurio: `http://HOST:8080/apis/ccompat/v7`."""

    secret_name: SecretName | None = None
    """Secret with `username` and `password`, or with `token`; and `ca.crt` if the certificate is not signed by a public
    authority. Default: the registry requires no login."""

    version: Annotated[int | Literal["latest"], VersionOfSubject()] | None = None
    """Version of the topic's subject that declares the columns, if `fields`, `avro` and `protobuf` are absent. `latest`
    (default) follows the subject: files that begin after a new version was registered have its columns."""

    subject: Subject | None = None
    """Subject of that version. `{topic}` stands for the topic. Default: `{topic}-value`."""

    def subject_of(self, topic: str) -> str:
        """Return the subject that declares the columns of a topic."""
        return (self.subject or DEFAULT_SUBJECT).replace(TOPIC, topic)
