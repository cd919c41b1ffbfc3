"""Glue's catalog of tables, by boto3."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import boto3.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from logpersister.manifest.secrets import AwsKeys
from logpersister.tables.errors import TableError, TableReason, short
from logpersister.tables.hive.columns import HiveColumns
from logpersister.tables.hive.folders import Partition
from logpersister.tables.hive.metastore import Column, StoredTable

CONNECT_SECONDS: Final = 10
READ_SECONDS: Final = 60
_NOT_FOUND: Final = "EntityNotFoundException"
_THERE: Final = "AlreadyExistsException"
_REASONS: Final[Mapping[str, TableReason]] = {
    "ConcurrentModificationException": "conflict",
    "VersionMismatchException": "conflict",
    "AccessDeniedException": "unauthorized",
    "ExpiredTokenException": "unauthorized",
    "InvalidSignatureException": "unauthorized",
    "UnrecognizedClientException": "unauthorized",
    "InvalidInputException": "refused",
    "ResourceNumberLimitExceededException": "refused",
    "GlueEncryptionException": "refused",
    _NOT_FOUND: "refused",
}
_TAKEN: Final = (
    "Name",
    "Description",
    "Owner",
    "Retention",
    "StorageDescriptor",
    "PartitionKeys",
    "ViewOriginalText",
    "ViewExpandedText",
    "TableType",
    "Parameters",
    "TargetTable",
)
"""What Glue takes of a table that it has told."""


class GlueMetastore:
    """`metastore.Metastore`."""

    scheme: Final = "s3"

    def __init__(
        self,
        region: str | None,
        endpoint: str | None,
        credentials: AwsKeys | None,
        catalog_id: str | None = None,
    ) -> None:
        """Take what is not by default; `catalog_id`: the account whose catalog it is."""
        keys: dict[str, Any] = {} if credentials is None else credentials.revealed()
        config = Config(
            connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries={"mode": "standard", "max_attempts": 4}
        )
        self._of = {} if catalog_id is None else {"CatalogId": catalog_id}
        with _told():
            self._client = boto3.session.Session().client(
                "glue", region_name=region, endpoint_url=endpoint, config=config, **keys
            )

    def table(self, database: str, name: str) -> StoredTable | None:
        found = self._ask(self._client.get_table, fine=_NOT_FOUND, DatabaseName=database, Name=name)
        if found is None:
            return None
        table = found["Table"]
        descriptor = table.get("StorageDescriptor", {})
        return StoredTable(
            {one["Name"].lower(): one.get("Type", "") for one in descriptor.get("Columns", [])},
            tuple((one["Name"], one.get("Type", "")) for one in table.get("PartitionKeys", [])),
            descriptor.get("Location", ""),
            descriptor.get("InputFormat", ""),
            table.get("Parameters", {}),
            table,
        )

    def create_database(self, database: str) -> None:
        if self._ask(self._client.get_database, fine=_NOT_FOUND, Name=database) is None:
            self._ask(self._client.create_database, fine=_THERE, DatabaseInput={"Name": database})

    def create(
        self, database: str, name: str, columns: HiveColumns, location: str, parameters: Mapping[str, str]
    ) -> None:
        classes = columns.classes
        table = {
            "Name": name,
            "TableType": "EXTERNAL_TABLE",
            "Parameters": {**parameters, "EXTERNAL": "TRUE"},
            "PartitionKeys": [_column(one, "string") for one in columns.folders],
            "StorageDescriptor": {
                "Columns": [_column(*one) for one in columns.files],
                "Location": location,
                "InputFormat": classes.input,
                "OutputFormat": classes.output,
                "SerdeInfo": {"SerializationLibrary": classes.serde, "Parameters": dict(classes.parameters)},
            },
        }
        self._ask(self._client.create_table, fine=_THERE, DatabaseName=database, TableInput=table)

    def change(self, database: str, name: str, columns: Sequence[Column], parameters: Mapping[str, str]) -> None:
        """Compare and set, by the version of the table."""
        found = self.table(database, name)
        if found is None:
            raise TableError("no-table", f"table {database}.{name} was dropped a moment ago")
        table = {name: found.own[name] for name in _TAKEN if name in found.own}
        descriptor = table["StorageDescriptor"]
        descriptor["Columns"] = [*descriptor.get("Columns", []), *(_column(*one) for one in columns)]
        table["Parameters"] = {**found.parameters, **parameters}
        version = {"VersionId": found.own["VersionId"]} if "VersionId" in found.own else {}
        self._ask(self._client.update_table, DatabaseName=database, TableInput=table, SkipArchive=True, **version)

    def add_partitions(self, database: str, name: str, table: StoredTable, partitions: Sequence[Partition]) -> None:
        """Add partitions without columns: engines then take those of the table, also ones that it gets later."""
        descriptor = {key: value for key, value in table.own["StorageDescriptor"].items() if key != "Columns"}
        inputs = [
            {
                "Values": list(one.values),
                "StorageDescriptor": {**descriptor, "Location": f"{table.location.rstrip('/')}/{one.path}"},
            }
            for one in partitions
        ]
        answer = self._ask(
            self._client.batch_create_partition, DatabaseName=database, TableName=name, PartitionInputList=inputs
        )
        for error in answer.get("Errors", []):
            detail = error.get("ErrorDetail", {})
            if detail.get("ErrorCode") != _THERE:
                values, message = error.get("PartitionValues"), detail.get("ErrorMessage", "")
                raise TableError("refused", f"Glue refuses partition {values}: {short(message)}")

    def partitions(self, database: str, name: str) -> Iterator[tuple[str, ...]]:
        with _told():
            pages = self._client.get_paginator("get_partitions").paginate(
                DatabaseName=database, TableName=name, ExcludeColumnSchema=True, **self._of
            )
            for page in pages:
                for one in page["Partitions"]:
                    yield tuple(one["Values"])

    def _ask(self, request: Callable[..., Any], *, fine: str = "", **arguments: Any) -> Any:
        """Return the answer to a request; None for the error that is `fine`."""
        with _told():
            try:
                return request(**self._of, **arguments)
            except ClientError as error:
                if error.response["Error"]["Code"] != fine:
                    raise
                return None


def _column(name: str, type_: str) -> dict[str, str]:
    return {"Name": name, "Type": type_}


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        reason = _REASONS.get(error.response["Error"]["Code"], "unavailable")
        remedy = "; check the rights (logpersister check --print-policy)" if reason == "unauthorized" else ""
        raise TableError(reason, f"Glue: {short(error)}{remedy}") from error
    except BotoCoreError as error:
        raise TableError("unavailable", f"Glue does not answer: {short(error)}; check spec.table.catalog") from error
