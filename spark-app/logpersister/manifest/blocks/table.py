"""``spec.table``: the table that has the rows of a topic, beside its objects."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Final, Literal, Self

from pydantic import Field

from logpersister.forms.constraint import Duration, Flag, Model, SecretName, Text, never
from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses
from logpersister.manifest.blocks.storage import Region

TOPIC: Final = "{topic}"
GENERATION: Final = "{generation}"
TYPE: Final = "{type}"
ONE_FOR_SEVERAL: Final = "names one table for several topics"
"""What is wrong with a name."""
GLUE_ID: Final = "glue.id"
"""Property of a catalog, as pyiceberg has it: the account whose catalog of Glue it is."""
OWN_PROPERTIES: Final = "logpersister."
"""How the names of properties begin that are ours."""
FORMAT_VERSION: Final = "format-version"
"""Property of an Iceberg table."""
WRITTEN_VERSION: Final = "2"
"""Format version of the tables that members write."""
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
        r"^(https?|postgresql\+psycopg2|sqlite|thrift)://[^\s]+$",
        "is not the address of a catalog",
        "write for example https://catalog.example.com, or thrift://metastore.example.com:9083",
        2000,
        before=(never("^[^/]*//[^/]*:[^/]*@", "has a password in it", "put it in the Secret that secretName names"),),
    ),
]

CatalogName = Annotated[
    str, Text(r"^[A-Za-z0-9_.-]+$", "is not the name of a catalog", "write it as engines have it, such as prod", 255)
]
Warehouse = Annotated[
    str,
    Text(r"^[^\s]+$", "is not the name of a warehouse", "write it as the catalog has it, without spaces", 1000),
]
Registration = Literal["onFirstObject", "onFinish"]
Property = Annotated[str, Text(r"^[^\r\n]*$", "has a line break", "write it in one line", 1000)]


class CatalogSpec(Model):
    """Where the table is known."""

    type: Literal["rest", "sql", "glue", "hive"]
    """`rest`: Iceberg's REST protocol (Polaris, Nessie, Lakekeeper, Unity and others). `sql`: a PostgreSQL database, as
    pyiceberg's `SqlCatalog`. `glue`: AWS Glue. `hive`: a Hive metastore."""

    name: CatalogName = "logpersister"
    """Name by which engines know the catalog."""

    uri: CatalogUri | None = None
    """Address: an `http` or `https` URL for `rest`, `postgresql+psycopg2://HOST:PORT/DATABASE` for `sql`
    (`sqlite:///FILE` for trials), `thrift://HOST:9083` for `hive` (several with commas); for `glue` only an endpoint
    other than the region's."""

    region: Region | None = None
    """AWS region of `glue`. Default: `spec.storage.region`."""

    warehouse: Warehouse | None = None
    """Name of the warehouse in the catalog. With `sql`, `glue` and `hive`: folder of the metadata, for example
    `s3://lake/warehouse`; required unless the table exists."""

    secret_name: SecretName | None = None
    """Secret with `token` or `credential` (`rest`), `username` and `password` (`sql`), or the keys of
    `spec.storage.secretName` (`glue`; default: that Secret). Default: no login.
    """

    properties: Annotated[dict[str, Property], Field(max_length=50)] = Field(default_factory=dict)
    """Further properties of pyiceberg's client, for example `scope` or `oauth2-server-uri`. Never secrets."""

    @property
    def address(self) -> str:
        """Address of the catalog in messages."""
        return self.uri or self.type

    @property
    def is_metastore(self) -> bool:
        """Whether it knows databases of tables, with names in lower case."""
        return self.type in ("glue", "hive")

    @refuses
    def _settings_are_of_the_type(self) -> Iterator[Finding]:
        if self.uri is None and self.type != "glue":
            yield Finding("is missing", "write the address of the catalog", ("uri",))
        if self.uri is not None:
            is_http, is_thrift = self.uri.startswith("http"), self.uri.startswith("thrift")
            if is_http != (self.type in ("rest", "glue")) or is_thrift != (self.type == "hive"):
                urls = "an http or https URL with rest and glue, postgresql+psycopg2://… with sql, thrift://… with hive"
                yield Finding("does not go together with the type of the catalog", f"write {urls}", ("uri",))
        if self.region is not None and self.type != "glue":
            yield Finding("is for type glue only", "remove it", ("region",))
        if self.secret_name is not None and self.type == "hive":
            told = "is for other types of catalogs: members log in to no metastore"
            yield Finding(told, "remove it", ("secretName",))


class TableSpec(Model):
    """A table that has each row of the stored objects (docs/tables.md)."""

    format: Literal["iceberg", "hive"]
    """`iceberg`: each row exactly once, in snapshots. `hive`: an external table over the folders, with partitions in a
    Hive metastore or Glue.
    """

    catalog: CatalogSpec
    """Catalog that knows the table."""

    name: TableName
    """Namespace and name of the table. `{topic}` stands for the topic (other characters than letters, digits and _
    become _), `{generation}` for `spec.generation`, `{type}` for the type's folder. Several topics need `{topic}`,
    `spec.types` needs `{type}`.
    """

    create: Flag = True
    """Whether members create a missing table and its namespace."""

    properties: Annotated[dict[str, Property], Field(max_length=50)] = Field(default_factory=dict)
    """Properties of tables that members create, for example `history.expire.max-snapshot-age-ms`."""

    partitions: Registration = "onFirstObject"
    """When a folder becomes a partition of a `hive` table: with its first object, or when `spec.finish` finishes it."""

    commit_interval: Annotated[timedelta, Duration("5s", "1d")] = timedelta(minutes=1)
    """Time between two snapshots, or two looks for new folders (`hive`)."""

    def identifier(self, topic: str, generation: int) -> tuple[str, ...]:
        """Return namespace and name of the table of a topic."""
        named = self.name.replace(TOPIC, _NO_IDENTIFIER.sub("_", topic)).replace(GENERATION, str(generation))
        return tuple((named.lower() if self.catalog.is_metastore else named).split("."))

    def full_name(self, topic: str, generation: int) -> str:
        """Return the identifier as one text, with dots."""
        return ".".join(self.identifier(topic, generation))

    def for_type(self, type_: str) -> Self:
        """Return the table of a type, by the value of its folder."""
        return self.model_copy(update={"name": self.name.replace(TYPE, _NO_IDENTIFIER.sub("_", type_))})

    @refuses
    def _the_catalog_has_such_tables(self) -> Iterator[Finding]:
        if self.format == "hive" and not self.catalog.is_metastore:
            remedy = "set it to hive or glue, or set format to iceberg"
            yield Finding("has no Hive tables", remedy, ("catalog", "type"))
        if self.catalog.is_metastore and self.name.count(".") != 1:
            told = "is not database and table, as metastores and Glue have them"
            yield Finding(told, "write it with one dot, for example lake.clicks", ("name",))
        if self.format == "iceberg" and self.partitions != "onFirstObject":
            told = "is for format hive only: rows of an Iceberg table come with its snapshots"
            yield Finding(told, "remove it", ("partitions",))

    @refuses
    def _properties_are_not_ours(self) -> Iterator[Finding]:
        if any(name.startswith(OWN_PROPERTIES) for name in self.properties):
            told = f"sets properties whose names begin with {OWN_PROPERTIES}, which members set"
            yield Finding(told, "remove them", ("properties",))
        version = self.properties.get(FORMAT_VERSION, WRITTEN_VERSION)
        if self.format == "iceberg" and version != WRITTEN_VERSION:
            told = f"sets another {FORMAT_VERSION} than {WRITTEN_VERSION}, which is that of tables that members write"
            yield Finding(told, f"remove {FORMAT_VERSION}", ("properties",))
