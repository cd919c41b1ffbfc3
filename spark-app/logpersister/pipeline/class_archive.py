"""``python -m logpersister.pipeline.class_archive`` makes the archive of classes with which Spark's JVM starts faster.

For an image, or a machine on which members start often: it takes a dozen seconds of CPU time and 65 MB once. The JVM
checks at each start that the archive is of this very Java and of the same jars, and does without one that is not.
"""

import sys
from subprocess import Popen
from typing import Any, cast

from logpersister.manifest.blocks.spark import SparkSpec
from logpersister.pipeline.job import SparkJobs
from logpersister.pipeline.session import CLASS_ARCHIVE, start_spark
from logpersister.report import logs


def main() -> None:
    """Start Spark as a member does, run a job, and let the JVM write down the classes that it has when it ends."""
    logs.configure(level="error")  # Java tells of each class that cannot be in it
    CLASS_ARCHIVE.unlink(missing_ok=True)  # one that is in use cannot be made
    made = CLASS_ARCHIVE.with_suffix(".new")
    conf = {"spark.driver.extraJavaOptions": f"-XX:ArchiveClassesAtExit={made}"}
    context = start_spark("logpersister class archive", SparkSpec(conf=conf))
    java: Popen[bytes] = cast("Any", context)._gateway.proc  # noqa: SLF001 - pyspark has no public one
    jobs = SparkJobs(context, most_jobs=1)
    jobs.warm_up().result()
    jobs.close()
    java.communicate()  # it ends with its input
    if not made.exists():
        sys.exit(f"{CLASS_ARCHIVE}: Java did not write it")
    made.replace(CLASS_ARCHIVE)


if __name__ == "__main__":
    main()
