"""What all tests of Hive tables read by."""

from collections.abc import Iterator

import pytest

from tests.readers.spark_sql import SparkSql
from tests.stack import HiveMetastore, MinioServer


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, metastore: HiveMetastore, minio: MinioServer) -> Iterator[SparkSql]:
    """The session's Spark beside that of members; it knows the metastore's tables."""
    with SparkSql(tmp_path_factory.mktemp("spark"), metastore, minio) as found:
        yield found
