"""Images in the node's containerd: its own, each one static program, and those that tests bring."""

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.cluster.node.machine import inside, run, succeeds
from tests.cluster.node.place import DIRECTORY, SOCKET
from tests.stack import artifacts

PAUSE: Final = "localhost/pause:node"
_CTR: Final = ("ctr", "--address", str(SOCKET), "--namespace", "k8s.io")
_CONFIG = "application/vnd.oci.image.config.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"


def ctr(*arguments: str) -> str:
    """Run a command of containerd's client and return what it printed."""
    return run(inside([*_CTR, *arguments]))


def containerd_serves() -> bool:
    """Whether containerd answers."""
    return succeeds(inside([*_CTR, "version"]))


def load_own() -> None:
    """Load the image that the node itself needs."""
    if not has(PAUSE):
        with tempfile.TemporaryDirectory(dir=DIRECTORY) as folder:
            archive = Path(folder) / "image.tar"
            write_archive(archive, PAUSE, artifacts.go_program("pause"))
            load(PAUSE, archive)


def load(image: str, archive: Path) -> None:
    """Load an image of a test."""
    ctr("images", "import", str(archive))
    assert image in _present(), f"{archive} does not hold {image}"


def has(image: str) -> bool:
    """Whether the node has an image."""
    return image in _present()


def tag(image: str, other: str) -> None:
    """Give an image another name."""
    ctr("images", "tag", "--force", image, other)


def forget_others(name: str, but: str) -> None:
    """Remove all images called ``name`` whatever their tag, except ``but``: builds of the past fill the disk."""
    for image in _present():
        if image.startswith(f"{name}:") and image != but:
            ctr("images", "rm", image)


def write_archive(archive: Path, image: str, program: Path) -> None:
    """Write an image of one static program, which is its entry point, as a tar file of OCI's image layout."""
    layer = _tar({program.name: program.read_bytes()}, mode=0o755)
    config = {
        "architecture": _architecture(),
        "os": "linux",
        "config": {"Entrypoint": [f"/{program.name}"], "User": "65532:65532"},
        "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
    }
    blobs: dict[str, bytes] = {}
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": _blob(blobs, _CONFIG, json.dumps(config).encode()),
        "layers": [_blob(blobs, _LAYER, layer)],
    }
    _write(archive, image, manifest, blobs)


def _write(archive: Path, image: str, manifest: Mapping[str, Any], blobs: dict[str, bytes]) -> None:
    """Write an image whose manifest names blobs as a tar file of OCI's image layout."""
    entry = _blob(blobs, _MANIFEST, json.dumps(manifest).encode())
    entry["annotations"] = {"io.containerd.image.name": image}
    index = {"schemaVersion": 2, "manifests": [entry]}
    files = {
        "oci-layout": json.dumps({"imageLayoutVersion": "1.0.0"}).encode(),
        "index.json": json.dumps(index).encode(),
        **{f"blobs/{digest.replace(':', '/')}": content for digest, content in blobs.items()},
    }
    archive.write_bytes(_tar(files, mode=0o644))


def _present() -> set[str]:
    return set(ctr("images", "ls", "--quiet").split())


def _blob(blobs: dict[str, bytes], kind: str, content: bytes) -> dict[str, Any]:
    digest = _digest(content)
    blobs[digest] = content
    return {"mediaType": kind, "digest": digest, "size": len(content)}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _tar(files: dict[str, bytes], *, mode: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _architecture() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}[run(["uname", "-m"]).strip()]
