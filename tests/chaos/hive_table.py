"""The Hive table of a run, as its metastore and Spark have it: is each folder a partition, and each row there once?"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

from hive_metastore.ThriftHiveMetastore import Client
from hive_metastore.ttypes import MetaException, NoSuchObjectException
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from tests.chaos.check import Problem
from tests.chaos.spark_table import told
from tests.chaos.table_readers import UnreadableTableError, by_lines
from tests.chaos.tables import LiveRow
from tests.readers.spark_sql import SparkSql, SqlError
from tests.stack import HiveMetastore, MinioServer
from tests.stack.ports import LOOPBACK

_TIMEOUT_MS = 30_000
_AT_ONCE = 20_000
"""Rows of an answer: one holds all of them."""
_SHOWN = 3


def partitions(metastore: HiveMetastore, database: str, name: str) -> set[str]:
    """Return the folders that are partitions; none where there is no table.

    Raises:
        UnreadableTableError: the metastore does not answer.
    """
    socket = TSocket(LOOPBACK, metastore.port)
    socket.setTimeout(_TIMEOUT_MS)
    transport = TBufferedTransport(socket)
    try:
        transport.open()
        return set(Client(TBinaryProtocol(transport)).get_partition_names(database, name, -1))
    except (NoSuchObjectException, MetaException):
        return set()
    except (TException, OSError) as error:
        raise UnreadableTableError(repr(error)) from error
    finally:
        transport.close()


def examine_partitions(found: AbstractSet[str], wanted: AbstractSet[str]) -> Iterator[Problem]:
    """Yield folders that are no partitions, and partitions that are no folders."""
    for kind, what, which in (
        ("unregistered", "folders are no partitions", wanted - found),
        ("registered", "partitions are no folders with records, or none that are finished", found - wanted),
    ):
        if which:
            shown = ", ".join(sorted(which)[:_SHOWN])
            yield Problem(kind, "table, by its metastore", f"{len(which)} {what}, such as {shown}")


def by_spark(folder: Path, metastore: HiveMetastore, minio: MinioServer, table: str) -> Iterator[LiveRow]:
    """Read the table by Spark's own classes for Hive tables.

    Raises:
        UnreadableTableError: it could not.
    """
    folder.mkdir()
    try:
        with SparkSql(folder, metastore, minio) as spark:
            described = [(row["col_name"], row["data_type"]) for row in spark.rows(f"describe {table}")]
            columns = ", ".join(told(dict(one for one in described if not one[0].startswith("#")).items()))
            (counted,) = spark.rows(f"select max(kafka_partition) as most, count(*) as number from {table}")
            if not counted["number"]:
                return
            for partition in range(counted["most"] + 1):
                of = f"from {table} where kafka_partition = {partition}"
                (ends,) = spark.rows(f"select max(kafka_offset) as last {of}")
                last = -1 if ends["last"] is None else ends["last"]
                for begin in range(0, last + 1, _AT_ONCE):
                    window = f"kafka_offset >= {begin} and kafka_offset < {begin + _AT_ONCE}"
                    rows = spark.rows(f"select to_json(struct({columns})) as row {of} and {window}")
                    yield from by_lines(row["row"] for row in rows)
    except (SqlError, AssertionError) as error:
        raise UnreadableTableError(str(error)[-1000:]) from error
