"""Hive metastores, by their Thrift protocol, without Kerberos. The client is generated; pyiceberg brings it."""

import copy
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from hive_metastore import ttypes
from hive_metastore.ThriftHiveMetastore import Client
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from logpersister.tables.errors import TableError, short
from logpersister.tables.hive.columns import HiveColumns
from logpersister.tables.hive.folders import Partition
from logpersister.tables.hive.metastore import Column, StoredTable

CONNECT_SECONDS: Final = 10.0
READ_SECONDS: Final = 60.0
PORT: Final = 9083
_OWNER: Final = "logpersister"


class ThriftMetastore:
    """`metastore.Metastore`. A connection for each call: calls are rare, and servers close idle ones."""

    scheme: Final = "s3a"

    def __init__(self, uri: str, user: str | None = None) -> None:
        """Take the addresses, with commas between them, and as whom the metastore is to act (`client_of`)."""
        self._uri = uri
        self._user = user

    def table(self, database: str, name: str) -> StoredTable | None:
        with self._client() as client:
            try:
                found = client.get_table(database, name)
            except ttypes.NoSuchObjectException:
                return None
        return StoredTable(
            {one.name.lower(): one.type for one in found.sd.cols},
            tuple((one.name, one.type) for one in found.partitionKeys or ()),
            found.sd.location or "",
            found.sd.inputFormat or "",
            dict(found.parameters or {}),
            found,
        )

    def create_database(self, database: str) -> None:
        with self._client() as client:
            try:
                client.get_database(database)
            except ttypes.NoSuchObjectException:
                new = ttypes.Database(name=database, description="", parameters={})
                self._unless_there(client.create_database, new)

    def create(
        self, database: str, name: str, columns: HiveColumns, location: str, parameters: Mapping[str, str]
    ) -> None:
        classes = columns.classes
        serde = ttypes.SerDeInfo(serializationLib=classes.serde, parameters=dict(classes.parameters))
        new = ttypes.Table(
            dbName=database,
            tableName=name,
            owner=_OWNER,
            createTime=int(time.time()),
            lastAccessTime=0,
            retention=0,
            sd=ttypes.StorageDescriptor(
                cols=[_field(*one) for one in columns.files],
                location=location,
                inputFormat=classes.input,
                outputFormat=classes.output,
                compressed=False,
                numBuckets=-1,
                serdeInfo=serde,
                bucketCols=[],
                sortCols=[],
                parameters={},
            ),
            partitionKeys=[_field(one, "string") for one in columns.folders],
            parameters={**parameters, "EXTERNAL": "TRUE"},
            tableType="EXTERNAL_TABLE",
        )
        with self._client() as client:
            self._unless_there(client.create_table, new)

    def change(self, database: str, name: str, columns: Sequence[Column], parameters: Mapping[str, str]) -> None:
        with self._client() as client:
            table = client.get_table(database, name)
            table.sd.cols += [_field(*one) for one in columns]
            table.parameters |= parameters
            client.alter_table_with_cascade(database, name, table, bool(columns))

    def add_partitions(self, database: str, name: str, table: StoredTable, partitions: Sequence[Partition]) -> None:
        new = []
        for one in partitions:
            descriptor = copy.copy(table.own.sd)
            descriptor.location = f"{table.location.rstrip('/')}/{one.path}"
            new.append(
                ttypes.Partition(
                    values=list(one.values),
                    dbName=database,
                    tableName=name,
                    createTime=int(time.time()),
                    lastAccessTime=0,
                    sd=descriptor,
                    parameters={},
                )
            )
        request = ttypes.AddPartitionsRequest(
            dbName=database, tblName=name, parts=new, ifNotExists=True, needResult=False
        )
        with self._client() as client:
            client.add_partitions_req(request)

    def partitions(self, database: str, name: str) -> Iterator[tuple[str, ...]]:
        with self._client() as client:
            names = client.get_partition_names(database, name, -1)
        for one in names:
            yield tuple(unquote(level.partition("=")[2]) for level in one.split("/"))

    def _unless_there(self, create: Any, new: Any) -> None:
        try:
            create(new)
        except ttypes.AlreadyExistsException:
            return

    @contextmanager
    def _client(self) -> Iterator[Client]:
        transport = opened(self._uri)
        try:
            yield client_of(transport, self._user)
        except TTransportException as error:
            raise _away(self._uri, error) from error
        except TApplicationException as error:
            raise TableError("unavailable", f"the metastore does not know a request ({short(error)})") from error
        except TException as error:
            told = short(getattr(error, "message", None) or error)
            raise TableError("refused", f"the metastore refuses: {told}") from error
        finally:
            transport.close()


def opened(uri: str) -> TBufferedTransport:
    """Return a connection to the first address that answers. Raises `TableError`."""
    failure: Exception | None = None
    for address in map(urlsplit, uri.split(",")):
        socket = TSocket(address.hostname, address.port or PORT)
        socket.setTimeout(CONNECT_SECONDS * 1000)
        transport = TBufferedTransport(socket)
        try:
            transport.open()
        except TTransportException as error:
            transport.close()
            failure = error
            continue
        socket.setTimeout(READ_SECONDS * 1000)
        return transport
    raise _away(uri, failure)


def client_of(transport: TBufferedTransport, user: str | None) -> Client:
    """Return a client; `user`: as whom the metastore acts where it does not know by itself, ``USER:GROUP``."""
    client = Client(TBinaryProtocol(transport))
    if user is not None:
        name, *groups = user.split(":")
        client.set_ugi(name, groups)
    return client


def _away(uri: str, error: Exception | None) -> TableError:
    return TableError("unavailable", f"{uri} does not answer ({short(error)}); check spec.table.catalog.uri")


def _field(name: str, type_: str) -> Any:
    return ttypes.FieldSchema(name=name, type=type_)
