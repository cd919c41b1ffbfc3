"""Iceberg's tables in a Hive metastore, by pyiceberg. Imported only where a manifest has such a catalog.

A metastore compares and sets nothing: pyiceberg locks the table there, and whoever outlives its lock overwrites what
others have committed (docs/design/tables.md).
"""

import threading

from hive_metastore.ThriftHiveMetastore import Client
from pyiceberg.catalog.hive import HiveCatalog, _HiveClient
from thrift.transport.TTransport import TTransportBase

from logpersister.tables.hive.thrift_client import client_of, opened


class PatientHiveCatalog(HiveCatalog):
    """Waits for no answer for ever, and may be used by several threads. pyiceberg has no option for it."""

    @staticmethod
    def _create_hive_client(properties: dict[str, str]) -> _HiveClient:
        return _Client(properties["uri"], properties.get("ugi"))


class _Client(_HiveClient):
    def __init__(self, uri: str, ugi: str | None) -> None:
        self._uri, self._user = uri, ugi
        self._of_thread = threading.local()

    def __enter__(self) -> Client:
        transport = opened(self._uri)
        self._open_ones().append(transport)
        return client_of(transport, self._user)

    def __exit__(self, *_: object) -> None:
        self._open_ones().pop().close()

    def _open_ones(self) -> list[TTransportBase]:
        found: list[TTransportBase] = self._of_thread.__dict__.setdefault("open", [])
        return found
