"""The JVM of a Spark that is not the product's, in a process of its own."""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from logpersister.pipeline.session import CLASS_ARCHIVE, JVM_OPTIONS


def settings(**of_java: str) -> dict[str, str]:
    """Return the settings of a JVM that starts as cheaply as a member's, and has these properties of Java."""
    archive = [f"-XX:SharedArchiveFile={CLASS_ARCHIVE}"] if CLASS_ARCHIVE.exists() else []
    properties = (f"-D{name.replace('_', '.')}={value}" for name, value in of_java.items())
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": " ".join([*archive, JVM_OPTIONS, *properties]),
    }


def session(cores: int, own: Mapping[str, str]) -> SparkSession:
    """Start it, with settings of its own beside those that all have."""
    builder = SparkSession.builder.master(f"local[{cores}]").appName("tests")
    for key, value in {**settings(), **own}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
