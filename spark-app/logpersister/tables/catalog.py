"""The table of a topic, by pyiceberg. Imported only where a manifest has ``spec.table``: it takes a second to load."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.rest.auth import AuthManager, LegacyOAuth2AuthManager
from pyiceberg.exceptions import (
    AuthorizationExpiredError,
    CommitFailedException,
    ForbiddenError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
    UnauthorizedError,
    ValidationError,
)
from pyiceberg.io.pyarrow import pyarrow_to_schema
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot, ancestors_of
from pyiceberg.transforms import IdentityTransform
from requests import Session
from requests.adapters import HTTPAdapter

from logpersister.formats.parquet.field_ids import id_paths, with_field_ids
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.blocks.table import FORMAT_VERSION, WRITTEN_VERSION, CatalogSpec, TableSpec
from logpersister.manifest.revisions.table_binding import TableBinding
from logpersister.manifest.secrets import AwsKeys, Secrets, storage_credentials
from logpersister.storage.receipts import NO_TYPE, TableFile
from logpersister.tables.access import catalog_login, glue_credentials
from logpersister.tables.columns import TableColumns
from logpersister.tables.data_files import data_file, live_file, places_of
from logpersister.tables.errors import TableError, short
from logpersister.tables.exchange import LiveFile
from logpersister.tables.live_rows import LiveRows
from logpersister.tables.offsets import (
    ACCEPTED,
    GAPS,
    LAST,
    SHOWN,
    SUMMARY,
    Ancestor,
    Held,
    TableView,
    held_text,
    last_text,
)
from logpersister.tables.single_commit import commit_once

CONNECT_SECONDS: Final = 10
READ_SECONDS: Final = 60
_GROUP: Final = "logpersister.group"
_TOPIC: Final = "logpersister.topic"
_TYPE: Final = "logpersister.type"
_PROPERTIES: Final = {
    FORMAT_VERSION: WRITTEN_VERSION,
    # A delete or a compaction does not fail because files were appended beside it.
    "write.delete.isolation-level": "snapshot",
    "write.update.isolation-level": "snapshot",
    "write.merge.isolation-level": "snapshot",
    # Each commit writes a new metadata file; of those before it a hundred stay.
    "write.metadata.delete-after-commit.enabled": "true",
}
_REGION: Final = "us-east-1"
"""What servers other than AWS take for theirs."""


class IcebergTable:
    """The table of one topic, loaded anew for each decision."""

    def __init__(
        self,
        catalog: Catalog,
        spec: TableSpec,
        topic: str,
        generation: int,
        group: str,
        bucket: str,
        type_: str = NO_TYPE,
    ) -> None:
        """Take the catalog (`open_catalog`), and whose table it is; `bucket` has the files."""
        self._catalog = catalog
        self._spec = spec
        self._identifier = spec.identifier(topic, generation)
        self._owner = {_GROUP: group, _TOPIC: topic} | ({} if type_ == NO_TYPE else {_TYPE: type_})
        self._bucket = bucket
        self.name = ".".join(self._identifier)

    def ensure(self, columns: TableColumns) -> TableBinding:
        """Create the table, or give it the columns that it lacks; return by which numbers it knows them.

        Anybody may do so, at the same time and again. Raises `TableError`.
        """
        with _told(self.name):
            table = self._load() or self._create(columns)
            self._check(table)
            with table.transaction() as change:
                if any(name not in table.properties for name in self._owner):
                    change.set_properties(self._owner)
                with _schema_refused(self.name), change.update_schema() as update:
                    update.union_by_name(columns.schema)
            return self._binding(self._catalog.load_table(self._identifier), columns)

    def load(self) -> "LoadedTable":
        """Return the table as it is now. Raises `TableError`."""
        with _told(self.name):
            table = self._load()
            if table is None:
                raise self._missing()
            self._check(table)
            return LoadedTable(self._catalog, table, self._bucket)

    def _load(self) -> Table | None:
        try:
            return self._catalog.load_table(self._identifier)
        except (NoSuchTableError, NoSuchNamespaceError):
            return None

    def _missing(self) -> TableError:
        remedy = "create it" if not self._spec.create else "restore it, or raise spec.generation to begin a new one"
        return TableError("no-table", f"table {self.name} is not in the catalog; {remedy}")

    def _create(self, columns: TableColumns) -> Table:
        if not self._spec.create:
            raise self._missing()
        numbers = {path: number for number, path in enumerate(id_paths(columns.schema), 1)}
        schema = pyarrow_to_schema(with_field_ids(columns.schema, numbers))
        levels = ((place, schema.find_field(name)) for place, name in enumerate(columns.folders))
        spec = PartitionSpec(
            *(PartitionField(one.field_id, 1000 + place, IdentityTransform(), one.name) for place, one in levels)
        )
        namespace = self._identifier[:-1]
        for end in range(1, len(namespace) + 1):
            if not self._catalog.namespace_exists(namespace[:end]):
                self._catalog.create_namespace_if_not_exists(namespace[:end])
        try:
            return self._catalog.create_table(
                self._identifier,
                schema,
                self._location(),
                partition_spec=spec,
                properties={**_PROPERTIES, **self._spec.properties, **self._owner},
            )
        except TableAlreadyExistsError:
            return self._catalog.load_table(self._identifier)

    def _location(self) -> str | None:
        """Return where the metadata is; None: the catalog knows. A database of a metastore has a place of its own."""
        catalog = self._spec.catalog
        if not catalog.is_metastore or catalog.warehouse is None:
            return None
        database, name = self._identifier
        return f"{catalog.warehouse.rstrip('/')}/{database}.db/{name}"

    def _check(self, table: Table) -> None:
        """Raise unless it is a table of ours, or of nobody yet, in the version of the format that is known here."""
        owner: dict[str, str] = {
            name: table.properties[name] for name in (_GROUP, _TOPIC, _TYPE) if name in table.properties
        }
        if owner and owner != self._owner:
            raise TableError(
                "other-owner",
                f"table {self.name} is that of {_people(owner)}, not of {_people(self._owner)}; objects are "
                "stored, and in no table, until spec.table.name names another one, or for this topic alone the table "
                "of an entry of spec.overrides",
            )
        if str(table.metadata.format_version) != WRITTEN_VERSION:
            raise TableError(
                "format-version",
                f"table {self.name} is of Iceberg's format version {table.metadata.format_version}, and members write "
                f"version {WRITTEN_VERSION}; name another table",
            )

    def _binding(self, table: Table, columns: TableColumns) -> TableBinding:
        schema, spec = table.schema(), table.spec()
        levels = tuple(schema.find_column_name(field.source_id) or "" for field in spec.fields)
        exact = all(isinstance(field.transform, IdentityTransform) for field in spec.fields)
        if levels != columns.folders or not exact:
            raise TableError(
                "partition-spec",
                f"table {self.name} is partitioned by ({', '.join(map(str, spec.fields))}), and folders by "
                f"({', '.join(columns.folders)}); partition the table by the identity of these columns, or set "
                "spec.output.partitionBy to what it has",
            )
        ours = {field.name for field in columns.schema}
        strange = [field.name for field in schema.fields if field.required and field.name not in ours]
        if strange:
            raise TableError("schema", f"table {self.name} requires column {strange[0]}, which files do not have")
        ids = {path: schema.find_field(path).field_id for path in id_paths(columns.files)}
        uuid = str(table.metadata.table_uuid)
        return TableBinding(self.name, uuid, schema.schema_id, spec.spec_id, columns.folders, ids)


class LoadedTable:
    """A table at one moment."""

    def __init__(self, catalog: Catalog, table: Table, bucket: str) -> None:
        self._catalog = catalog
        self._table = table
        self._bucket = bucket

    @property
    def view(self) -> TableView:
        """Metadata that decisions rest on."""
        metadata = self._table.metadata
        head = metadata.current_snapshot()
        snapshots = [] if head is None else ancestors_of(head, metadata)
        return TableView(
            ".".join(self._table.name()),
            str(metadata.table_uuid),
            metadata.default_spec_id,
            [_ancestor(snapshot) for snapshot in snapshots],
            metadata.properties.get(LAST),
            metadata.properties.get(ACCEPTED),
            metadata.properties.get(GAPS, ""),
            None if head is None else head.timestamp_ms,
            metadata.properties.get(SHOWN, ""),
        )

    def append(
        self, files: Sequence[TableFile], held: Held, removed: Sequence[TableFile] = (), shown: str | None = None
    ) -> None:
        """Append files in one snapshot, with what the table holds then. Raises `TableError`; it may have happened.

        A snapshot without files is made, too: where ranges have no rows, what the table holds moves all the same.

        Args:
            removed: live files that this snapshot has no more.
            shown: what the table shows of replays from then on; None: what it has shown.
        """
        with _told(".".join(self._table.name())):
            spec_id = self._table.metadata.default_spec_id
            commit_once(
                self._catalog,
                self._table,
                [data_file(self._bucket, file, spec_id) for file in files],
                {SUMMARY: held_text(held)},
                lambda snapshot: {
                    LAST: last_text(held, snapshot.snapshot_id, snapshot.sequence_number or 0),
                    **({} if shown is None else {SHOWN: shown}),
                },
                [data_file(self._bucket, file, spec_id) for file in removed],
            )

    @property
    def rows(self) -> LiveRows:
        """Live rows, as readers of the table see them."""
        return LiveRows(self._table)

    def files(self) -> "Iterator[LiveFile]":
        """Yield all live files, one that is there twice twice. Raises `TableError`."""
        with _told(".".join(self._table.name())):
            places = places_of(self._table.schema())
            for task in self._table.scan().plan_files():
                yield live_file(task.file, places, has_deletes=bool(task.delete_files))


def open_catalog(spec: CatalogSpec, storage: StorageSpec, secrets: Secrets) -> Catalog:
    """Return the catalog of a manifest. Raises `TableError`, and ManifestError for a missing Secret."""
    with _told(spec.address):
        known = {**_connection(spec, storage, secrets), **_files(storage, secrets), **spec.properties}
        if spec.type == "rest":
            return _RestCatalog(spec.name, **known)
        if spec.type == "hive":
            from logpersister.tables.metastore_catalogs import PatientHiveCatalog  # noqa: PLC0415 - only with this type

            return PatientHiveCatalog(spec.name, **known)
        return load_catalog(spec.name, **known)


class _RestCatalog(RestCatalog):
    """Bounds the wait for answers, and shows no expired token when it asks for a new one."""

    def _create_legacy_oauth2_auth_manager(self, session: Session) -> AuthManager:
        """Called for each session, before its first request."""
        _with_deadlines(session)
        manager = super()._create_legacy_oauth2_auth_manager(session)
        if isinstance(manager, LegacyOAuth2AuthManager):
            # By that session pyiceberg would send the refused token along, and servers refuse such a request.
            manager._session = own = _with_deadlines(Session())  # noqa: SLF001
            own.headers, own.verify, own.cert = session.headers, session.verify, session.cert
        return manager


def _with_deadlines(session: Session) -> Session:
    for scheme in ("http://", "https://"):
        session.mount(scheme, _WithDeadline())
    return session


class _WithDeadline(HTTPAdapter):
    def send(self, *arguments: Any, **options: Any) -> Any:
        options["timeout"] = options.get("timeout") or (CONNECT_SECONDS, READ_SECONDS)
        return super().send(*arguments, **options)


def _connection(spec: CatalogSpec, storage: StorageSpec, secrets: Secrets) -> dict[str, str]:
    found: dict[str, str] = {"type": spec.type}
    if spec.warehouse is not None:
        found["warehouse"] = spec.warehouse
    if spec.type == "glue":
        return found | _glue(spec, storage, secrets)
    found["uri"] = spec.address
    login = {name: value.reveal() for name, value in catalog_login(spec, secrets).items()}
    return found | ({"uri": _database(spec, login)} if spec.type == "sql" else login)


def _glue(spec: CatalogSpec, storage: StorageSpec, secrets: Secrets) -> dict[str, str]:
    found = {"glue.endpoint": spec.uri, "glue.region": spec.region or storage.region}
    login = _login("glue", glue_credentials(spec, storage, secrets))
    return {name: value for name, value in found.items() if value is not None} | login


def _login(service: str, keys: AwsKeys | None) -> dict[str, str]:
    revealed = {} if keys is None else keys.revealed()
    named = {f"{service}.{name.removeprefix('aws_').replace('_', '-')}": value for name, value in revealed.items()}
    return {name: value for name, value in named.items() if value is not None}


def _database(spec: CatalogSpec, login: Mapping[str, str]) -> str:
    from sqlalchemy.engine import make_url  # noqa: PLC0415 - only with type sql

    url = make_url(spec.address)
    if url.drivername == "sqlite":
        return url.update_query_dict({"timeout": "30"}).render_as_string(hide_password=False)
    deadlines = {"connect_timeout": str(CONNECT_SECONDS), "tcp_user_timeout": str(READ_SECONDS * 1000)}
    found = url.set(query={**deadlines, **url.query})
    if login:
        found = found.set(username=login["username"], password=login["password"])
    return found.render_as_string(hide_password=False)


def _files(storage: StorageSpec, secrets: Secrets) -> dict[str, str]:
    """Return how pyiceberg reaches the bucket, unless the catalog says another way."""
    found = {
        "s3.force-virtual-addressing": str(not storage.uses_path_style).lower(),
        "s3.connect-timeout": str(CONNECT_SECONDS),
        "s3.request-timeout": str(READ_SECONDS),
    }
    if storage.endpoint is not None:
        found |= {"s3.endpoint": storage.endpoint, "s3.region": _REGION}  # else AWS is asked for the region
    if storage.region is not None:
        found["s3.region"] = storage.region
    return found | _login("s3", storage_credentials(storage, secrets))


def _ancestor(snapshot: Snapshot) -> Ancestor:
    said: Mapping[str, str] = {} if snapshot.summary is None else snapshot.summary.additional_properties
    has_parent = snapshot.parent_snapshot_id is not None
    return Ancestor(snapshot.snapshot_id, snapshot.sequence_number or 0, has_parent, said.get(SUMMARY))


@contextmanager
def _schema_refused(table: str) -> Iterator[None]:
    try:
        yield
    except (ValidationError, ValueError, TypeError) as error:
        raise TableError(
            "schema",
            f"table {table} cannot take the columns: {short(error)}. Columns are added and widened, and nothing else; "
            "change the table or the schema",
        ) from error


@contextmanager
def _told(table: str) -> Iterator[None]:
    """Raise what goes wrong as `TableError`."""
    try:
        yield
    except TableError:
        raise
    except CommitFailedException as error:
        raise TableError("conflict", f"table {table}: others have changed it meanwhile ({short(error)})") from error
    except (AuthorizationExpiredError, ForbiddenError, UnauthorizedError) as error:
        raise TableError(
            "unauthorized",
            f"table {table}: the catalog refuses the login ({short(error)}); check the Secret of "
            "spec.table.catalog.secretName, and its rights",
        ) from error
    except Exception as error:
        raise TableError(
            "unavailable", f"table {table}: {type(error).__name__}: {short(error)}; check spec.table.catalog.uri"
        ) from error


def _people(owner: Mapping[str, str]) -> str:
    """Return an owner for people."""
    return ", ".join(f"{name.rpartition('.')[2]} {value!r}" for name, value in owner.items())
