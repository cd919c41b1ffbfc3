"""``registry`` of a value: source of writer schemas, and of output schemas."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from logpersister.forms.constraint import BOUNDS, HOST, PORT, Model, SecretName, Text, never, written_as_text
from logpersister.forms.problems import refuse
from logpersister.forms.rule import VALIDATIONS

LATEST: Final = "latest"
LATEST_PATTERN: Final = "^latest$"
TOPIC: Final = "{topic}"
DEFAULT_SUBJECT: Final = f"{TOPIC}-value"
DEFAULT_SUBJECT_OF_KEYS: Final = f"{TOPIC}-key"
"""Subject of keys as serializers name it by default."""
_HIGHEST: Final = 2**31 - 1

GLUE_REGISTRY: Final = "default-registry"
"""Glue's own default."""
_GLUE: Final = re.compile(r"glue://(?P<region>[a-z0-9-]+)(?:/(?P<registry>.+))?")

_HTTP: Final = rf"https?://{HOST}(:{PORT})?(/[A-Za-z0-9._~%/-]*)?"

RegistryUrl = Annotated[
    str,
    Text(
        rf"^({_HTTP}(,{_HTTP})*|glue://[a-z]{{2}}(-[a-z]+)+-[0-9]+(/[A-Za-z0-9_\$#.-]+)?)$",
        "is not an http or https URL of a schema registry, and no glue://REGION/REGISTRY of AWS Glue",
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


@dataclass(frozen=True, slots=True)
class GluePlace:
    """A registry of AWS Glue."""

    region: str
    registry: str


IdFraming = Literal["confluent", "apicurio", "glue"]
"""Headers with the id of a schema, which a registry has given it."""
RegistryPlace = tuple[str, str | None]
"""Address of a registry, and the Secret to log in with."""


class RegistrySpec(Model):
    """A schema registry that speaks Confluent's API, as also Apicurio and Karapace do, or AWS Glue's."""

    url: RegistryUrl
    """Address, as producers have it: several of one registry with commas. For Apicurio:
    `http://HOST:8080/apis/ccompat/v7`. For AWS Glue: `glue://REGION/REGISTRY`."""

    secret_name: SecretName | None = None
    """Secret with `username` and `password`, or `token`; and `ca.crt` for a private CA. Default: no login. For AWS
    Glue: as `spec.storage.secretName`.
    """

    version: Annotated[int | Literal["latest"], VersionOfSubject()] | None = None
    """Version of the topic's subject that declares the columns, if the manifest does not."""

    subject: Subject | None = None
    """Subject of that version. `{topic}` stands for the topic. Default: `{topic}-value`. With AWS Glue: name of the
    schema, by default `{topic}`."""

    @property
    def place(self) -> RegistryPlace:
        """What tells registries apart."""
        return self.url, self.secret_name

    @property
    def glue(self) -> GluePlace | None:
        """Where it is in AWS Glue; None: it is another one."""
        found = _GLUE.fullmatch(self.url)
        return None if found is None else GluePlace(found["region"], found["registry"] or GLUE_REGISTRY)

    def subject_of(self, topic: str) -> str:
        """Return the subject that declares the columns of a topic."""
        return self._named(self.subject, DEFAULT_SUBJECT, topic)

    def subject_of_keys(self, topic: str) -> str:
        """Return the subject of the keys of a topic."""
        return self._named(self.subject, DEFAULT_SUBJECT_OF_KEYS, topic)

    def _named(self, named: str | None, default: str, topic: str) -> str:
        return (named or (default if self.glue is None else TOPIC)).replace(TOPIC, topic)


class IdRegistrySpec(RegistrySpec):
    """A schema registry whose ids stand before values."""

    framing: Literal["confluent", "apicurio"] = "confluent"
    """Header with the id of a schema. `confluent`: a zero byte and 4 bytes. `apicurio`: a zero byte and 8 bytes."""

    @property
    def header(self) -> IdFraming:
        """What stands before values."""
        return self.framing if self.glue is None else "glue"

    @classmethod
    def of(cls, registry: RegistrySpec) -> "IdRegistrySpec":
        """Return a registry that knows also the schemas that other values name: those of a type, or keys."""
        framing = registry.framing if isinstance(registry, IdRegistrySpec) else "confluent"
        return cls(url=registry.url, secret_name=registry.secret_name, subject=registry.subject, framing=framing)
