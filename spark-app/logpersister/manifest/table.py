"""``spec.table``: the table that has the rows of a topic, beside its objects."""

import re
from datetime import timedelta
from typing import Annotated, Final, Literal, Self

from pydantic import Field

from logpersister.manifest.constraint import Duration, Flag, Model, SecretName, Text, never
from logpersister.manifest.rule import NotInCel, rule

TOPIC: Final = "{topic}"
GENERATION: Final = "{generation}"
TYPE: Final = "{type}"
OWN_PROPERTIES: Final = "logpersister."
"""How the names of properties begin that are ours."""
_PART: Final = r"([A-Za-z0-9_]|\{topic\}|\{generation\}|\{type\})"
_NO_IDENTIFIER: Final = re.compile(r"[^A-Za-z0-9_]", re.ASCII)

TableName = Annotated[
    str,
    Text(
        rf"^{_PART}+(\.{_PART}+)+$",
        "is not the name of a table",
        f"write namespace and table, for example lake.{TOPIC} (letters, digits and _; {TOPIC} stands for the topic)",
        200,
    ),
]

CatalogUri = Annotated[
    str,
    Text(
        r"^(https?|postgresql\+psycopg2|sqlite)://[^\s]+$",
        "is not the address of a catalog",
        "write for example https://catalog.example.com, or postgresql+psycopg2://db.example.com/catalog",
        2000,
        before=(never("^[^/]*//[^/]*:[^/]*@", "has a password in it", "put it in the Secret that secretName names"),),
    ),
]


Warehouse = Annotated[
    str,
    Text(r"^[^\s]+$", "is not the name of a warehouse", "write it as the catalog has it, without spaces", 1000),
]
Property = Annotated[str, Text(r"^[^\r\n]*$", "has a line break", "write it in one line", 1000)]


class CatalogSpec(Model):
    """Where the table is known."""

    type: Literal["rest", "sql"]
    """`rest`: Iceberg's REST protocol, as Polaris, Nessie, Lakekeeper, Unity and others speak it. `sql`: a PostgreSQL
    database, in the layout of pyiceberg's `SqlCatalog`."""

    uri: CatalogUri
    """Address: an `http` or `https` URL for `rest`, `postgresql+psycopg2://HOST:PORT/DATABASE` for `sql`.
    `sqlite:///FILE` is for trials with a single member."""

    warehouse: Warehouse | None = None
    """Name of the warehouse in the catalog. With `sql`: folder of the tables' metadata, for example
    `s3://lake/warehouse`; required unless the table exists."""

    secret_name: SecretName | None = None
    """Secret with `token` or `credential` (`rest`: a bearer token, or `ID:SECRET` of OAuth), or with `username` and
    `password` (`sql`). Default: the catalog requires no login."""

    properties: Annotated[dict[str, Property], Field(max_length=50)] = Field(default_factory=dict)
    """Further properties of pyiceberg's client, for example `scope` or `oauth2-server-uri`. Never secrets: the manifest
    shows them."""

    @rule(
        "self.type == 'rest' ? self.uri.startsWith('http') : !self.uri.startsWith('http')",
        "does not go together with the type of the catalog",
        "write an http or https URL with rest, postgresql+psycopg2://… with sql",
        "uri",
    )
    def _the_address_is_of_the_type(self) -> bool:
        return self.uri.startswith("http") == (self.type == "rest")


class TableSpec(Model):
    """A table that has each row of the stored objects exactly once (docs/tables.md)."""

    format: Literal["iceberg"]
    """Format of the table."""

    catalog: CatalogSpec
    """Catalog that knows the table."""

    name: TableName
    """Namespace and name of the table. `{topic}` stands for the topic (characters other than letters, digits and _
    become _), `{generation}` for `spec.generation`, `{type}` for the value of a type's folder (as with the topic). A
    group of several topics needs `{topic}`, and `spec.types` needs `{type}`."""

    create: Flag = True
    """Whether members create a missing table and its namespace. `false`: the topic waits until somebody has created
    the table."""

    properties: Annotated[dict[str, Property], Field(max_length=50)] = Field(default_factory=dict)
    """Iceberg's properties of a table that members create, for example `history.expire.max-snapshot-age-ms`."""

    commit_interval: Annotated[timedelta, Duration("5s", "1d")] = timedelta(minutes=1)
    """Time between two snapshots of a table. Shorter: rows are visible sooner. Longer: fewer snapshots and manifests,
    which slow down queries a little until they are rewritten."""

    def identifier(self, topic: str, generation: int) -> tuple[str, ...]:
        """Return namespace and name of the table of a topic."""
        named = self.name.replace(TOPIC, _NO_IDENTIFIER.sub("_", topic)).replace(GENERATION, str(generation))
        return tuple(named.split("."))

    def full_name(self, topic: str, generation: int) -> str:
        """Return the same as people write it."""
        return ".".join(self.identifier(topic, generation))

    def for_type(self, type_: str) -> Self:
        """Return the table of a type, by the value of its folder."""
        return self.model_copy(update={"name": self.name.replace(TYPE, _NO_IDENTIFIER.sub("_", type_))})

    @rule(
        NotInCel("keys of a map have no patterns there"),
        f"sets properties whose names begin with {OWN_PROPERTIES}, which members set",
        "remove them",
        "properties",
    )
    def _properties_are_not_ours(self) -> bool:
        return not any(name.startswith(OWN_PROPERTIES) for name in self.properties)
