"""``logpersister version``."""

import argparse
import platform
from importlib.metadata import PackageNotFoundError, version

import logpersister
from logpersister.cli.exits import Exit


def run(_arguments: argparse.Namespace) -> int:
    """Print the version of logpersister and of what its behaviour depends on."""
    print(f"logpersister {logpersister.__version__}")
    print(f"python {platform.python_version()}")
    for package in ("logpersister-native", "pyspark", "pyarrow", "kafka-python", "boto3", "tzdata"):
        try:
            print(f"{package} {version(package)}")
        except PackageNotFoundError:
            print(f"{package} is not installed")
    return Exit.OK
