"""Reads the Parquet files of ``clicks-parquet.yaml`` as one table, as any engine does, and counts clicks by country.

``python -m examples.query_clicks --endpoint http://127.0.0.1:9000``, with ``AWS_ACCESS_KEY_ID`` and
``AWS_SECRET_ACCESS_KEY`` in the environment.
"""

import argparse
import sys

import pyarrow.dataset as ds
from pyarrow import fs

FOLDER = "logs/rows/clicks"


def main() -> int:
    """Print a line for each country, the busiest one first."""
    parser = argparse.ArgumentParser(description="Count the clicks that are stored as Parquet.")
    parser.add_argument("--endpoint", default="http://127.0.0.1:9000", help="S3 server (default %(default)s)")
    parser.add_argument("--region", default="us-east-1", help="default %(default)s")
    arguments = parser.parse_args()

    s3 = fs.S3FileSystem(endpoint_override=arguments.endpoint, region=arguments.region)
    clicks = ds.dataset(FOLDER, filesystem=s3, format="parquet", partitioning="hive")  # leaves out _quarantine
    found = clicks.to_table(columns=["country", "ms"]).group_by("country").aggregate([("ms", "count"), ("ms", "mean")])
    print(f"{'COUNTRY':10}{'CLICKS':>8}{'MEAN MS':>10}")
    for row in found.sort_by([("ms_count", "descending"), ("country", "ascending")]).to_pylist():
        print(f"{row['country']:10}{row['ms_count']:8,}{row['ms_mean']:10.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
