"""Builds the images: ``scripts/image.py build``, with docker or buildah, whichever is there.

docker pulls what the Dockerfile begins with. buildah does without a registry: unless ``BASE_IMAGE`` says otherwise it
begins with a Debian by debootstrap, and unless ``RUST_IMAGE`` does the native decoder is this machine's: the wheel of
set-up where it runs in that Debian, otherwise compiled in the build by the Rust that is here. Each image is tagged with
the version and with a part of its own hash: clusters know it by that, so that a new build is a new image to them.

A Debian that has neither gets buildah from its own packages. What the builders say goes to ``.cache/log``.

Standard library only.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

import debian
import inventory
import logged
from logged import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

CACHE = logged.CACHE / "images"
TARGETS = {"operator": "logpersister-operator", "spark-app": "logpersister"}
"""Name of the image of each target of the Dockerfile."""

SUITE = "bookworm"
"""Release of Debian, as in the Dockerfile."""
GLIBC = (2, 36)
WHEELS = "-cp311-abi3-"
"""What that release has, and what names of wheels have that its Python loads."""
_LEFT_OVER = (
    "var/cache/apt/archives",
    "var/lib/apt/lists",
    "var/log",
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
)
_SYSTEM_CA = "/etc/ssl/certs/ca-certificates.crt"
_MOUNTED_CA = "/run/build-ca.pem"


class ImageError(Exception):
    """An image could not be built; the message says why."""


class Builder(ABC):
    """A program that builds from the Dockerfile."""

    @abstractmethod
    def build(self, target: str, name: str) -> None:
        """Build one target as ``name``."""

    @abstractmethod
    def identify(self, name: str) -> str:
        """Return the hash of image ``name``."""

    @abstractmethod
    def tag(self, name: str, other: str) -> None:
        """Give image ``name`` another name."""

    @abstractmethod
    def save(self, name: str, archive: Path) -> None:
        """Write image ``name`` to a tar file that containerd, docker and kind load."""

    @abstractmethod
    def size(self, name: str) -> int:
        """Bytes of the image, unpacked."""


class Docker(Builder):
    """Docker with BuildKit."""

    def build(self, target: str, name: str) -> None:
        command = ["docker", "build", "--progress=plain", "--target", target, "--tag", name]
        _run_logged(f"image-{target}", [*command, *_certificates(), *_arguments({}), str(ROOT)])

    def identify(self, name: str) -> str:
        return _output(["docker", "image", "inspect", "--format", "{{.Id}}", name])

    def tag(self, name: str, other: str) -> None:
        _run(["docker", "tag", name, other])

    def save(self, name: str, archive: Path) -> None:
        _run(["docker", "save", "--output", str(archive), name])

    def size(self, name: str) -> int:
        return int(_output(["docker", "image", "inspect", "--format", "{{.Size}}", name]))


class Buildah(Builder):
    """buildah without a daemon: root, and no right to make namespaces needed."""

    def __init__(self) -> None:
        os.environ["BUILDAH_ISOLATION"] = "chroot"
        places = ["--root", str(CACHE / "storage"), "--runroot", str(CACHE / "run")]
        # Without the option the storage stays mounted over itself, and cannot be removed as a folder.
        self._storage = [*places, "--storage-driver", "overlay", "--storage-opt", "overlay.skip_mount_home=true"]

    def build(self, target: str, name: str) -> None:
        found, options = {}, []
        if not os.environ.get("BASE_IMAGE"):
            found["BASE_IMAGE"] = self._base()
        if not os.environ.get("RUST_IMAGE"):
            if "BASE_IMAGE" in found and (wheel := _native_wheel()):
                found |= {"RUST_IMAGE": "tools", "NATIVE": "given"}
                options = ["--volume", f"{wheel.parent}:/opt/native:ro"]
            else:
                found["RUST_IMAGE"] = os.environ.get("BASE_IMAGE") or found["BASE_IMAGE"]
                options = ["--volume", f"{_rust()}:/opt/rust:ro"]
        options += ["--layers", "--format", "oci", "--target", target, "--tag", name]
        try:
            command = self._buildah("build", *options, *_certificates(), *_arguments(found), str(ROOT))
            _run_logged(f"image-{target}", command)
        except ImageError:
            _succeeds(self._buildah("rm", "--all"))  # else what it was at stays mounted
            raise

    def identify(self, name: str) -> str:
        return _output(self._buildah("inspect", "--type", "image", "--format", "{{.FromImageID}}", name))

    def tag(self, name: str, other: str) -> None:
        _run(self._buildah("tag", name, other))

    def save(self, name: str, archive: Path) -> None:
        archive.unlink(missing_ok=True)
        _run(self._buildah("push", "--quiet", "--disable-compression", name, f"oci-archive:{archive}:{name}"))

    def lay_out(self, name: str, labels: Mapping[str, str], folder: Path, tag: str) -> None:
        """Write image ``name`` with labels to a new folder as it will be pushed, its digest final: an OCI layout."""
        container = _output(self._buildah("from", name))
        for label, value in labels.items():  # not at the build: what comes from its cache would not get them
            _run(self._buildah("config", "--label", f"{label}={value}", container))
        compressed = ("--rm", "--format=oci", "--disable-compression=false", "--quiet")
        _run(self._buildah("commit", *compressed, container, f"oci:{folder}:{tag}"))

    def size(self, name: str) -> int:
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            archive = Path(folder) / "image.tar"
            self.save(name, archive)
            return archive.stat().st_size

    def _base(self) -> str:
        """Return the name of a small Debian, made by debootstrap unless it is there."""
        name = f"localhost/debian:{SUITE}"
        if _succeeds(self._buildah("inspect", "--type", "image", name)):
            return name
        if os.geteuid() != 0:
            raise ImageError("set BASE_IMAGE to a Debian that buildah can pull, or run as root")
        try:
            debian.install("images")
        except debian.MissingError as error:
            raise ImageError(f"set BASE_IMAGE to a Debian that buildah can pull; or {error}") from None
        print(f"==> {name}, the base of images, by debootstrap", flush=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            root = Path(folder) / "root"
            # From its own mirror, which apt keeps.
            _run_logged("image-base", ["debootstrap", "--variant=minbase", SUITE, str(root)])
            for place in _LEFT_OVER:
                shutil.rmtree(root / place)
            for place in ("var/cache/apt/archives/partial", "var/lib/apt/lists/partial", "var/log"):
                (root / place).mkdir(parents=True)
            (root / "etc" / "hostname").unlink(missing_ok=True)
            (root / "etc" / "resolv.conf").unlink(missing_ok=True)  # both are the machine's
            archive = Path(folder) / "root.tar"
            kept_out = [f"--exclude=./{place}/*" for place in ("dev", "proc", "sys", "run", "tmp")]
            _run(["tar", "-C", str(root), "--numeric-owner", *kept_out, "-cf", str(archive), "."])
            container = _output(self._buildah("from", "scratch"))
            _run(self._buildah("add", "--quiet", container, str(archive), "/"))  # keeps owners, as copying would not
            _run(self._buildah("config", "--cmd", "/bin/bash", container))
            _run(self._buildah("commit", "--quiet", "--rm", container, name))
        return name

    def _buildah(self, command: str, *arguments: str) -> list[str]:
        return ["buildah", *self._storage, command, *arguments]


def release_builder() -> Buildah:
    """Return the builder whose images have a digest before they are pushed."""
    tool = builder()
    if not isinstance(tool, Buildah):
        raise ImageError("docker tells the digest of an image only after a push; set IMAGE_BUILDER=buildah")
    return tool


def builder() -> Builder:
    """Return docker where a daemon answers, else buildah; ``IMAGE_BUILDER`` names one."""
    chosen = os.environ.get("IMAGE_BUILDER", "")
    if chosen == "docker" or (not chosen and shutil.which("docker") and _succeeds(["docker", "info"])):
        return Docker()
    if chosen not in {"", "buildah"}:
        raise ImageError(f"IMAGE_BUILDER is {chosen!r}; it can be docker or buildah")
    if shutil.which("buildah") is None:
        try:
            debian.install("images")
        except debian.MissingError as error:
            raise ImageError(f"no program to build images: start docker, or {error}") from None
    return Buildah()


def reference(target: str) -> str:
    """Return the name, unique for its content, of the image that was built last; raises `ImageError`."""
    file = CACHE / target
    if not file.exists():
        raise ImageError(f"the image {TARGETS[target]} is not built; run `make image`")
    return file.read_text()


def build(target: str) -> None:
    """Build the image of a target and remember its name."""
    CACHE.mkdir(parents=True, exist_ok=True)
    tool, began = builder(), time.monotonic()
    name = f"localhost/{TARGETS[target]}"
    print(f"==> image {name}", flush=True)
    tool.build(target, f"{name}:{_version()}")
    unique = f"{name}:{tool.identify(f'{name}:{_version()}').removeprefix('sha256:')[:12]}"
    tool.tag(f"{name}:{_version()}", unique)
    (CACHE / target).write_text(unique)
    print(f"    {unique} in {time.monotonic() - began:.0f} s", flush=True)


def _certificates() -> list[str]:
    """Return options for a machine whose own certificates are needed to reach registries; the image has none of it."""
    bundle = os.environ.get("SSL_CERT_FILE", _SYSTEM_CA)
    if not Path(bundle).exists():
        return []
    return ["--secret", f"id=ca,src={bundle}", "--build-arg", f"CA_FILE={_MOUNTED_CA}"]


def _arguments(found: dict[str, str]) -> list[str]:
    given = {name: os.environ[name] for name in ("BASE_IMAGE", "RUST_IMAGE") if os.environ.get(name)}
    return [part for name, value in (found | given).items() for part in ("--build-arg", f"{name}={value}")]


def _native_wheel() -> Path | None:
    """Return the wheel of the native decoder that set-up builds, if it runs in the image."""
    prepared = subprocess.run([sys.executable, str(ROOT / "scripts" / "prepare.py"), "native-wheel"], check=False)
    if prepared.returncode != 0:
        raise ImageError("the native decoder could not be built; set RUST_IMAGE to an image with Rust, or mend it here")
    (wheel,) = inventory.NATIVE_WHEEL.glob("*.whl")
    return wheel if runs_in_image(wheel) else None


def runs_in_image(wheel: Path) -> bool:
    """Whether the image has the Python of a wheel, and the glibc that its libraries were linked with."""
    with zipfile.ZipFile(wheel) as files:
        libraries = [files.read(name) for name in files.namelist() if name.endswith(".so")]
    wanted = [re.findall(rb"\0GLIBC_(\d+)\.(\d+)", library) for library in libraries]
    known = all(wanted)  # what names no version is linked with another libc
    return WHEELS in wheel.name and known and all((int(a), int(b)) <= GLIBC for found in wanted for a, b in found)


def _rust() -> str:
    try:
        return _output(["rustc", "--print", "sysroot"])
    except (OSError, ImageError):
        raise ImageError("set RUST_IMAGE to an image with Rust that buildah can pull, or install Rust here") from None


def _version() -> str:
    found = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def _run_logged(log: str, command: list[str]) -> None:
    """Run what takes long and says much."""
    logged.begin(log)
    try:
        logged.run(log, command)
    except logged.FailedError as error:
        raise ImageError(str(error)) from None


def _run(command: list[str]) -> None:
    _output(command)


def _output(command: list[str]) -> str:
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ImageError(f"failed: {' '.join(command)}\n{done.stderr}")
    return done.stdout.strip()


def _succeeds(command: list[str]) -> bool:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0


def main() -> int:
    """Build images, or tell of built ones."""
    parser = argparse.ArgumentParser(description="The images of the operator and of members.")
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build", help="build them")
    building.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; both by default")
    naming = commands.add_parser("name", help="print the name of the image built last, unique for its content")
    naming.add_argument("target", choices=TARGETS)
    saving = commands.add_parser("save", help="write the image built last to a tar file, for docker, kind, containerd")
    saving.add_argument("target", choices=TARGETS)
    saving.add_argument("archive", type=Path)
    arguments = parser.parse_args()
    try:
        if arguments.command == "name":
            print(reference(arguments.target))
        elif arguments.command == "save":
            builder().save(reference(arguments.target), arguments.archive)
        else:
            if unknown := set(arguments.targets) - set(TARGETS):
                building.error(f"unknown target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
            for target in arguments.targets or TARGETS:
                build(target)
    except (ImageError, logged.FailedError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
