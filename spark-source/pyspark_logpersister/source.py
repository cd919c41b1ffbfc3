"""The data source: objects of a backup become partitions of a read."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Final
from urllib.parse import unquote

import boto3
import pyarrow as pa
from botocore.config import Config
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from pyspark_logpersister.record_batches import DamagedObjectError, decoded, of_spark
from pyspark_logpersister.wanted import ObjectName, Wanted, selected, wanted

SCHEMA: Final = (
    "topic string, partition int, offset bigint, timestamp timestamp, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>"
)
_NAME: Final = re.compile(r"([^/]+)/(\d+)_(\d+)_(\d{20})\.kafka")
_ADDRESS: Final = re.compile(r"s3a?://([^/]+)/?(.*)")
_READ_BYTES: Final = 1 << 20


class LogPersisterSource(DataSource):
    """A backup. Options: ``endpoint``, ``region``, ``accessKeyId`` and ``secretAccessKey``, ``generation``."""

    @classmethod
    def name(cls) -> str:
        return "logpersister"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: StructType) -> "BackupReader":  # noqa: ARG002 - Spark compares it with what comes
        return BackupReader(dict(self.options))


class BackupReader(DataSourceReader):
    """One read; goes to executors as it is."""

    def __init__(self, options: Mapping[str, str]) -> None:
        address = _ADDRESS.fullmatch(options.get("path", ""))
        if address is None:
            raise ValueError(
                f"{options.get('path', '')!r} is no backup; load s3://bucket/prefix, the prefix of a manifest"
            )
        self.bucket, self.folder = address[1], f"{address[2].strip('/')}/".removeprefix("/")
        self._options = {name.lower(): value for name, value in options.items()}
        self._wanted = Wanted()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Take in filters. Spark looks at all of them again."""
        self._wanted = wanted(filters)
        return filters

    def partitions(self) -> Sequence[InputPartition]:
        with closing(self._client()) as client:
            names = list(self._names(client))
        if not names and self._wanted.topics is None:
            raise ValueError(
                f"s3://{self.bucket}/{self.folder} has no object of a backup; load the bucket and the prefix of a "
                "manifest whose output is kafka"
            )
        return [InputPartition(one) for one in selected(names, self._wanted, self._generation())]

    def _generation(self) -> int | None:
        given = self._options.get("generation")
        if given is None or given.isdecimal():
            return None if given is None else int(given)
        raise ValueError(f"option generation: {given!r} is no number; leave it out for the highest of each topic")

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        of: ObjectName = partition.value
        with closing(self._client()) as client:
            answer = client.get_object(Bucket=self.bucket, Key=of.key)
            metadata, offsets = answer["Metadata"], self._wanted.of("offset")
            with closing(answer["Body"]) as body:
                start = int(metadata.get("read-from", metadata["start"]))
                start, end = max(start, offsets.first), min(int(metadata["end"]), offsets.last + 1)
                if start >= end:
                    return
                try:
                    pieces = body.iter_chunks(_READ_BYTES)
                    for batch in decoded(pieces, start, end, self._wanted.of("timestamp")):
                        yield of_spark(batch, of.topic, of.partition)
                except DamagedObjectError as error:
                    raise DamagedObjectError(f"s3://{self.bucket}/{of.key}: {error}") from None

    def _names(self, client: Any) -> Iterator[ObjectName]:
        """List objects, only below the folders of wanted topics where the query names them."""
        topics = self._wanted.topics
        folders = [self.folder] if topics is None else [f"{self.folder}{topic}/" for topic in topics]
        for folder in folders:
            for page in client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=folder):
                for listed in page.get("Contents", ()):
                    name = _NAME.fullmatch(listed["Key"].removeprefix(self.folder))
                    if name is not None:
                        topic, generation, partition, start = name.groups()
                        yield ObjectName(unquote(topic), int(partition), int(generation), int(start), listed["Key"])

    def _client(self) -> Any:
        options = self._options
        endpoint = options.get("endpoint")
        return boto3.client(
            "s3",
            endpoint_url=endpoint,
            region_name=options.get("region"),
            aws_access_key_id=options.get("accesskeyid"),
            aws_secret_access_key=options.get("secretaccesskey"),
            config=Config(s3={"addressing_style": "path" if endpoint else "auto"}),
        )
